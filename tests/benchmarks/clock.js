// The clock of explorer.py, installed in the page before anything else runs.
(() => {
  const PATIENCE = 300000;
  const drawn = new Set();
  const fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawn.add(String(text));
    return fillText.call(this, text, ...rest);
  };

  let began = 0;
  let end = Promise.resolve(0);

  const after = (frame) => {
    // A message is delivered after the frame has been painted.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = frame;
    port2.postMessage(null);
  };

  window.clock = {
    /** Wait for a row in a cell: in one of the elements or, without a selector, on a canvas. */
    start(cell, elements, row, event) {
      drawn.clear();
      if (event) {
        const note = () => (began = performance.now());
        addEventListener(event, note, { capture: true, once: true });
      }
      const isShown = () => {
        if (!elements) return drawn.has(row);
        const root = document.querySelectorAll(".jp-Notebook .jp-Cell")[cell];
        return [...root.querySelectorAll(elements)].some((one) => one.textContent.trim() === row);
      };
      const last = performance.now() + PATIENCE;
      end = new Promise((resolve, reject) => {
        const look = () => {
          if (isShown()) after(() => resolve(performance.now()));
          else if (performance.now() > last) reject(new Error(`${row} did not appear`));
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
    },
    /** Milliseconds since the event. */
    passed: async () => (await end) - began,
    /** Milliseconds since 1970, comparable with the kernel's clock. */
    seen: async () => performance.timeOrigin + (await end),
  };
})();
