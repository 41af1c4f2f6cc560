"""The category of the moments in which an event is the innermost one, by its kind."""

from nbprof.categories import Category
from nbprof.ingest.trace.work.event_kinds import Kind

CATEGORY_OF = {
    Kind.BUILDING: Category.BUILDING,
    Kind.EAGER: Category.DISPATCH,
    Kind.HANDOVER: Category.DISPATCH,
    Kind.CALL: Category.DISPATCH,
    Kind.KERNEL: Category.GRAPH,
    Kind.FUNCTION_RUN: Category.GRAPH,
    Kind.SESSION_RUN: Category.GRAPH,
    Kind.WAIT: Category.INPUT,
    Kind.COMPILED: Category.DISPATCH,
    Kind.COMPILING: Category.COMPILING,
    Kind.AWAITING: Category.GRAPH,
}
