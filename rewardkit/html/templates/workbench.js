/* The panel is HTML that the kernel draws; what a person does on what has data-rk is a command to the kernel, that of
   a field with its value. Commands go by the hidden text field, each with those just before it, as the messages of a
   widget may overtake each other.
   JupyterLab takes keys that are not typed into a text field: D twice deletes a cell. Its own mark against that is an
   attribute of what has the focus; keys with Ctrl, Alt or Command (to save, say) stay its own, Escape goes back to it. */
var panel = this.closest('.rewardkit-workbench');
var all = what => [...panel.querySelectorAll(what)];
var sent = [], keep = '', begun = false;
var send = command => {
  var wire = panel.querySelector('.rewardkit-wire input');
  var last = JSON.parse(wire.value || '[]').slice(-1)[0];  // of this page, or of another on the same panel
  var number = Math.max(Date.now(), last ? last[0] + 1 : 0);
  sent = [...sent.slice(-15), [number, command]];
  wire.value = JSON.stringify(sent);
  wire.dispatchEvent(new Event('change', {bubbles: true}));
};
var moved = field => {  // of a slider that is drawn only its last place is sent
  var command = JSON.parse(field.dataset.rk), value = field.value, same = JSON.stringify(command);
  if (field.type === 'checkbox') value = field.checked;
  if (field.type === 'range' || field.type === 'number') value = value === '' ? null : Number(value);
  if (field.matches('select')) value = JSON.parse(value);
  if (field.dataset.sent === String(value)) return;  // with Enter, and again as the focus goes
  field.dataset.sent = value;
  sent = sent.filter(([, one]) => JSON.stringify(one.slice(0, -1)) !== same);
  send([...command, value]);
};
var put = (field, value) => {  // what stands now, where nobody is at it
  if (field === document.activeElement) return;
  var far = Math.abs(value);
  if (field.type === 'range' && far > field.max) [field.min, field.max] = [-far, far];
  if (field.type === 'checkbox') field.checked = value;
  else field.value = field.matches('select') ? JSON.stringify(value) : value;
  delete field.dataset.sent;
};
var follow = () => {
  var live = panel.querySelector('[data-now]'), key = command => JSON.stringify(command);
  var now = new Map((live ? JSON.parse(live.dataset.now) : []).map(([command, value]) => [key(command), value]));
  all('input[data-rk], select[data-rk]').forEach(field => {
    var command = key(JSON.parse(field.dataset.rk));
    if (now.has(command)) put(field, now.get(command));
  });
  all('.rewardkit-wire input').forEach(wire => {
    wire.tabIndex = -1;
    wire.setAttribute('aria-hidden', 'true');
    if (!begun && wire.value) send(['show']);  // something moved in another page, or before this one was loaded
    begun = true;
  });
  all('.rewardkit-browse').forEach(browse => {
    var page = browse.querySelector('[data-row]'), open = page ? page.dataset.row : '';
    browse.querySelectorAll('[role=option]').forEach(line => {
      var here = line.dataset.line === open, list = line.parentNode;
      if (here && line.getAttribute('aria-selected') === 'false') {
        var from = line.offsetTop - list.offsetTop;
        if (from < list.scrollTop) list.scrollTop = from;
        if (from + line.offsetHeight > list.scrollTop + list.clientHeight)
          list.scrollTop = from + line.offsetHeight - list.clientHeight;
      }
      line.setAttribute('aria-selected', here);
    });
  });
  if (keep && document.activeElement === document.body) {
    var same = all('[data-keep]').filter(item => item.dataset.keep === keep);
    var next = same.find(item => item.getAttribute('aria-current')) || same[0];
    if (next) next.focus({preventScroll: true});
  }
};
var toForm = tries => {
  var box = panel.querySelector('.rewardkit-case-expected input');
  if (box && box.offsetParent) box.select();
  else if (tries) setTimeout(() => toForm(tries - 1), 100);
};
var copy = button => {  // widgets have no clipboard; where a page may not copy either, it selects
  var box = button.parentNode.querySelector('pre'), range = document.createRange(), chosen = getSelection();
  var done = () => { button.textContent = 'Copied'; };
  range.selectNodeContents(box);
  chosen.removeAllRanges();
  chosen.addRange(range);
  if (navigator.clipboard) navigator.clipboard.writeText(box.textContent).then(done);
  else if (document.execCommand('copy')) done();
};
var NEXT = ['step', 1], BACK = ['step', -1];
var KEYS = {j: NEXT, k: BACK, ArrowDown: NEXT, ArrowUp: BACK, f: ['flag'], c: ['case']};
var keys = event => {
  if (!panel.isConnected) return window.removeEventListener('keydown', keys, true);
  var at = event.target;
  if (!panel.contains(at)) return;
  var labs = event.ctrlKey || event.metaKey || event.altKey;
  if (labs) return at.removeAttribute('data-lm-suppress-shortcuts');
  at.setAttribute('data-lm-suppress-shortcuts', 'true');
  var notebook = panel.closest('.jp-Notebook');
  if (event.key === 'Escape' && notebook) return notebook.focus();
  var typing = at.matches('input, select, textarea');
  if (event.key === 'Enter' && at.matches('input[data-rk]')) moved(at);
  var scrolls = event.key.startsWith('Arrow') && !at.closest('[role=listbox]');
  var browse = panel.querySelector('.rewardkit-browse');
  if (KEYS[event.key] && browse && browse.offsetParent && !typing && !scrolls) {
    event.preventDefault();
    send(KEYS[event.key]);
    if (event.key === 'c') toForm(30);
  }
};
if (panel) {
  panel.tabIndex = -1;
  window.addEventListener('keydown', keys, true);
  panel.addEventListener('click', event => {
    var at = event.target.closest('[data-rk]');
    if (at && !at.matches('input, select')) send(JSON.parse(at.dataset.rk));
    if (event.target.matches('.rewardkit-copy')) copy(event.target);
    if (!panel.contains(document.activeElement)) panel.focus({preventScroll: true});  // keys are the panel's now
  });
  for (const [event, fields] of [['input', '[data-rk][type=range]'], ['change', '[data-rk]:not([type=range])']])
    panel.addEventListener(event, ({target}) => { if (target.matches(fields)) moved(target); });
  panel.addEventListener('beforeinput', event => {  // a box of a number drops a comma, and makes 2 of 0,2
    if (event.target.type !== 'number' || !(event.data || '').includes(',')) return;
    event.preventDefault();
    document.execCommand('insertText', false, event.data.replace(',', '.'));
  });
  panel.addEventListener('focusin', event => {
    var at = event.target.closest('[data-keep]');
    keep = at ? at.dataset.keep : '';
  });
  document.addEventListener('pointerdown', event => { if (!panel.contains(event.target)) keep = ''; });
  follow();
  new MutationObserver(follow).observe(panel, {childList: true, subtree: true});
}
