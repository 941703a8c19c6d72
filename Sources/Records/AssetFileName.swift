/// What files of assets may be called.
public enum AssetFileName {
    /// Longest name, in bytes.
    public static let limit = 255

    /// A name that is safe as the name of a file anywhere, and in a URL: without slashes, control characters and marks that turn the
    /// direction of writing around, and not too long. One that is safe stays as it is.
    public static func safe(_ name: String) -> String {
        let unsafe: Set<Unicode.Scalar> = ["/", "\\", ":", "*", "?", "\"", "<", ">", "|"]
        var safe = String.UnicodeScalarView()
        var length = 0
        for scalar in name.unicodeScalars {
            // Formatting characters are invisible; those among them that turn the direction around make a name look like another.
            let isInvisible = [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            if isInvisible { continue }
            let scalar = unsafe.contains(scalar) ? "_" : scalar
            length += UTF8.width(scalar)
            if length > limit { break }
            safe.append(scalar)
        }
        let text = String(safe)
        return text.isEmpty || text.allSatisfy { $0 == "." } ? "asset" : text
    }
}
