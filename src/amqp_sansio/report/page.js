"use strict";
document.documentElement.classList.add("zooms");
for (const svg of document.querySelectorAll("svg.chart")) {
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let now = whole.slice(), held = null;
  const show = () => svg.setAttribute("viewBox", now.join(" "));
  const at = e => { const r = svg.getBoundingClientRect(); return [(e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height]; };
  svg.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const [x, y] = at(e), size = Math.min(1, Math.max(.02, now[2] / whole[2] * ((e.deltaY || e.deltaX) < 0 ? .8 : 1.25)));
    const w = whole[2] * size, h = whole[3] * size;
    now = [now[0] + (now[2] - w) * x, now[1] + (now[3] - h) * y, w, h];
    if (size === 1) now = whole.slice();
    show();
  }, {passive: false});
  svg.addEventListener("pointerdown", e => { if (now[2] < whole[2]) { held = [e.clientX, e.clientY, now[0], now[1]]; svg.setPointerCapture(e.pointerId); } });
  svg.addEventListener("pointermove", e => {
    if (!held) return;
    const r = svg.getBoundingClientRect();
    now[0] = held[2] - (e.clientX - held[0]) / r.width * now[2];
    now[1] = held[3] - (e.clientY - held[1]) / r.height * now[3];
    show();
  });
  svg.addEventListener("pointerup", () => { held = null; });
  svg.addEventListener("dblclick", () => { now = now[2] < whole[2] ? whole.slice() : [whole[0] + whole[2] / 4, whole[1] + whole[3] / 4, whole[2] / 2, whole[3] / 2]; show(); });
}
const look = () => {
  for (const box of document.querySelectorAll(".wide")) box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
};
addEventListener("resize", look);
addEventListener("toggle", look, true);
look();
