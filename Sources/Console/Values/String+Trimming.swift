extension String {
    /// The text without surrounding spaces and tabs.
    package var trimmedSpaces: String { self[...].trimmingSpaces }
}

extension Substring {
    /// The text without surrounding spaces and tabs.
    package var trimmingSpaces: String {
        // Works on scalars, because a space followed by a combining character is not a space as a `Character`.
        var scalars = unicodeScalars
        while scalars.first == " " || scalars.first == "\t" { scalars.removeFirst() }
        while scalars.last == " " || scalars.last == "\t" { scalars.removeLast() }
        return String(scalars)
    }
}
