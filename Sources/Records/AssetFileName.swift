/// The rules for names of asset files.
public enum AssetFileName {
    /// Maximum length in bytes.
    public static let limit = 255

    /// A file name that is safe on any system and in URLs: without slashes, control characters and marks that change
    /// the writing direction, and not too long. Safe names are unchanged.
    public static func safe(_ name: String) -> String {
        let unsafe: Set<Unicode.Scalar> = ["/", "\\", ":", "*", "?", "\"", "<", ">", "|"]
        var safe = String.UnicodeScalarView()
        var length = 0
        for scalar in name.unicodeScalars {
            // Formatting characters are invisible, and those that change the direction can make a name look like
            // another.
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
