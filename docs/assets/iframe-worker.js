// Browsers start no workers from files. There the script of a worker, such as that of the search,
// runs in a hidden frame of the page.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      const script = document.createElement("script");
      script.src = address;
      frame.hidden = true;
      frame.srcdoc = script.outerHTML;
      this.inside = new Promise((done) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          done(inside);
        };
      });
      document.body.append(frame);
    }

    async postMessage(data) {
      const inside = await this.inside;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
  };
}
