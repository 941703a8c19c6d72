// Marks what nobody could see in the texts that scripts show, so that two names that look alike can be told apart. The server marks those of its
// pages by the same rules. Whatever a script adds to the page passes here before it is drawn, so no script needs to think of it.

// Letters that a joiner between them changes, what may be before the joiner of an emoji, and what a wide blank belongs to.
const joined = String.raw`[[\u0600-\u1CFF]&&[\p{Alphabetic}\p{M}]]`
const emoji = String.raw`[[\p{Emoji}--[\0-\xFF]]\uFE0F\p{Emoji_Modifier}]`
const wide = String.raw`[\p{Ideographic}\u3001-\u30FF\uFF01-\uFF60\uAC00-\uD7A3]`
const unseen = new RegExp([
  String.raw`(?!(?<=${joined})[\u200C\u200D]${joined}|(?<=${emoji})\u200D\p{Emoji})[\u200C\u200D]`,
  String.raw`(?<![\p{Emoji}\p{Ideographic}])[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]`,
  String.raw`(?<![\u{1F3F4}\u{E0020}-\u{E007E}])[\u{E0020}-\u{E007F}]`,
  String.raw`(?<!${wide})\u3000(?!${wide})`,
  String.raw`[[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFB]--[\t\n\r \u3000\u200C\u200D\uFE00-\uFE0F\u{E0020}-\u{E007F}\u{E0100}-\u{E01EF}]]`,
].join('|'), 'gv')
// Longer texts are contents of files.
const longest = 10_000
const attributes = ['title', 'aria-label']

const number = character => character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')
const plain = text => text.replace(unseen, character => `⟨U+${number(character)}⟩`)

function markText(node) {
  const { data, parentElement: parent } = node
  if (!parent || data.length > longest || data.search(unseen) < 0 || parent.closest('[data-u], textarea, script, style')) return
  // No element may be in these.
  if (parent.closest('option, title, svg')) return void (node.data = plain(data))
  const parts = []
  let end = 0
  for (const { 0: character, index } of data.matchAll(unseen)) {
    const mark = document.createElement('i')
    mark.dataset.u = number(character)
    mark.textContent = character === '\0' ? '' : character
    parts.push(data.slice(end, index), mark)
    end = index + character.length
  }
  node.replaceWith(...parts, data.slice(end))
}

function markAttributes(element) {
  for (const name of attributes) {
    const text = element.getAttribute(name)
    if (text && text.search(unseen) >= 0) element.setAttribute(name, plain(text))
  }
}

function mark(node) {
  if (node instanceof Text) return markText(node)
  if (!(node instanceof Element)) return
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT)
  const found = []
  while (texts.nextNode()) found.push(texts.currentNode)
  found.forEach(markText)
  for (const element of [node, ...node.querySelectorAll('[title], [aria-label]')]) markAttributes(element)
}

new MutationObserver(changes => {
  for (const { type, target, addedNodes } of changes) {
    if (type === 'attributes') markAttributes(target)
    else if (type === 'characterData') markText(target)
    else addedNodes.forEach(mark)
  }
}).observe(document.body, { childList: true, characterData: true, subtree: true, attributes: true, attributeFilter: attributes })
// What came before this script.
mark(document.body)
