// Escape closes the form that has the focus, and what opened it has the focus then.
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && event.target.closest(".act[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
});
