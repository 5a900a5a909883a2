// Every chart saves as SVG, in the light page's colors, and as CSV of what it draws.
"use strict";
(() => {
  // of the first rule, :root, whatever the page looks like now
  const light = document.styleSheets[0].cssRules[0].style;

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function alone(svg) {
    const copy = svg.cloneNode(true), [, , width, height] = copy.getAttribute("viewBox").split(" ");
    copy.setAttribute("width", width + "pt");
    copy.setAttribute("height", height + "pt");
    const text = new XMLSerializer().serializeToString(copy);
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text.replace(/var\((--[\w-]+)\)/g, (_, name) => light.getPropertyValue(name).trim());
  }

  for (const figure of document.querySelectorAll("figure[data-name]")) {
    const row = document.createElement("span"), name = figure.dataset.name;
    row.className = "save";
    const offer = (kind, type, text) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind.toUpperCase();
      button.setAttribute("aria-label", `save the chart as ${kind.toUpperCase()}`);
      button.addEventListener("click", () => save(`${name}.${kind}`, type, text()));
      row.append(button);
    };
    offer("svg", "image/svg+xml", () => alone(figure.querySelector("svg.chart")));
    offer("csv", "text/csv", () => JSON.parse(figure.querySelector("script").textContent));
    figure.querySelector("h3").append(row);
  }
})();
