/// A text split around the part in which it differs from another.
package struct TextParts: ViewModel {
    package let before: String
    package let own: String
    package let after: String

    /// Splits two texts into the common prefix, the differing part, and the common suffix.
    package static func differing(_ left: String, _ right: String) -> (TextParts, TextParts)? {
        let (here, there) = (Array(left.unicodeScalars), Array(right.unicodeScalars))
        var start = 0
        while start < min(here.count, there.count), here[start] == there[start] { start += 1 }
        var end = 0
        while end < min(here.count, there.count) - start, here[here.count - 1 - end] == there[there.count - 1 - end] { end += 1 }
        if start + end == 0 { return nil }
        func parts(_ text: [Unicode.Scalar]) -> TextParts {
            TextParts(
                before: String(text[..<start]), own: String(text[start..<(text.count - end)]), after: String(text[(text.count - end)...]))
        }
        return (parts(here), parts(there))
    }
}

extension String {
    fileprivate init(_ scalars: ArraySlice<Unicode.Scalar>) {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        self.init(view)
    }
}
