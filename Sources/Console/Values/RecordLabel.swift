package import JSON
package import Records

/// The text that usually tells a record from others of its type.
package enum RecordLabel {
    private static let names = ["title", "name", "text", "subject"]
    /// The fields that may have it, also as Core Data names them. The first one with a text counts.
    package static let fields = names.map { Name($0) } + names.map { MirroredNaming.field(of: $0) }
    /// The maximum length of a label, in characters.
    private static let length = 60

    /// - Returns: `nil` for a record without one.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    package static func text(of record: StoredRecord) throws -> String? {
        try wholeText(of: record).map(shortened)
    }

    /// The same in full length.
    static func wholeText(of record: StoredRecord) throws -> String? {
        let values = try record.fields.values(of: Set(fields))
        return fields.lazy.compactMap { name -> String? in
            guard case .string(let text)? = values[name], !text.isEmpty else { return nil }
            return text
        }.first
    }

    static func shortened(_ text: String) -> String {
        let beginning = text.prefix(length)
        return beginning.endIndex == text.endIndex ? text : "\(beginning)…"
    }
}
