internal import JSON
package import Records
internal import Text

/// The notice about indexes that were just added. The URL names them, and the notice tells only those that the schema has, so that a link can't put
/// other text on the page.
package enum AddedIndexes {
    /// The field of a form whose next page has the notice.
    package static let formField = "tell"
    private static let word = "indexes-added"

    /// The address with the notice.
    package static func address(_ address: String, telling added: [(key: FieldKey, indexes: Indexes)]) -> String {
        let texts = added.flatMap { key, indexes in indexes.names.map { "\(key.schemaName):\($0)" } }
        return "\(address)\(address.contains("?") ? "&" : "?")notice=\(PercentEncoding.encoded(([word] + texts).joined(separator: " ")))"
    }

    /// - Parameter notice: the parameter `notice` of the URL.
    /// - Returns: `nil` if it is another notice, or the type has no such index.
    package static func text(_ notice: String?, type: RecordType?, in environment: Records.Environment) -> String? {
        guard let notice, let type else { return nil }
        let parts = notice.split(separator: " ")
        guard parts.first == Substring(word) else { return nil }
        let told = parts.dropFirst().compactMap { part -> String? in
            let words = part.split(separator: ":", maxSplits: 1)
            guard words.count == 2, let index = Indexes(name: String(words[1])) else { return nil }
            let key = FieldKey(schemaName: Name(String(words[0])))
            guard type.definition(of: key)?.indexes.isSuperset(of: index) ?? false else { return nil }
            return "\(words[1]) to \(type.name).\(key.label)"
        }
        return told.isEmpty ? nil : "Added \(told.joined(separator: ", ")) in \(environment.rawValue)."
    }
}
