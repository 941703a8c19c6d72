// Lays JSON out, two spaces for each level. Numbers stay as they are written: JavaScript's own would round large ones.

// Levels, and letters that are put out: indentation can make a small text a thousand times as long.
const depthLimit = 200
const lengthLimit = 4_000_000

// Returns null when the text is no JSON, or too deep or too long when it is laid out.
export function laidOut(text) {
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  const lines = []
  let line = ''
  let depth = 0
  let length = 0
  const next = () => {
    lines.push(line)
    length += line.length + 1
    line = '  '.repeat(depth)
  }
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === '{' || token === '[') {
      line += token
      depth += 1
      if (depth > depthLimit) return null
      next()
    } else if (token === '}' || token === ']') {
      depth -= 1
      // Nothing between the brackets: they stay together.
      if (/^ *$/.test(line) && /[{[]$/.test(lines.at(-1) ?? '') && line.length === 2 * (depth + 1)) line = lines.pop() + token
      else {
        next()
        line += token
      }
    } else if (token === ',') {
      line += token
      next()
    } else if (token === ':') line += ': '
    else line += token
    if (length > lengthLimit) return null
  }
  return [...lines, line].join('\n')
}
