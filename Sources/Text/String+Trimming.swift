// Trimming works on scalars, because a space followed by a combining character is not a space as a `Character`.

extension StringProtocol {
    /// The text without surrounding spaces and tabs.
    public var trimmingSpaces: String { trimming { $0 == " " || $0 == "\t" } }

    /// The text without surrounding white space, line ends included.
    public var trimmingWhiteSpace: String { trimming(\.properties.isWhitespace) }

    private func trimming(_ isTrimmed: (Unicode.Scalar) -> Bool) -> String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !isTrimmed($0) }), let last = scalars.lastIndex(where: { !isTrimmed($0) }) else { return "" }
        return String(String.UnicodeScalarView(scalars[first...last]))
    }
}
