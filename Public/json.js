// Formats JSON with two spaces per level. Keeps numbers unchanged, because JavaScript would round large ones.

// Limits of depth and output length in characters: indentation can enlarge a small text a thousand times.
const depthLimit = 200
const lengthLimit = 4_000_000

// Returns null if the text is not JSON, or its output exceeds the limits.
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
      // Empty brackets stay on one line.
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
