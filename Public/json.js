// Lays JSON out, two spaces for each level. Numbers stay as they are written: JavaScript's own would round large ones.

// Returns null when the text is no JSON.
export function laidOut(text) {
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  const lines = []
  let line = ''
  let depth = 0
  const next = () => {
    lines.push(line)
    line = '  '.repeat(depth)
  }
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === '{' || token === '[') {
      line += token
      depth += 1
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
  }
  return [...lines, line].join('\n')
}
