// A figure that cannot be drawn must not look like one that is empty.
function showError(text) {
  const line = document.createElement("p");
  line.className = "banner";
  line.textContent = "A script of this page failed: " + text;
  document.getElementById("script-errors").append(line);
}
window.onerror = (message) => { showError(String(message)); };
window.onunhandledrejection = (event) => { showError(String(event.reason)); };
