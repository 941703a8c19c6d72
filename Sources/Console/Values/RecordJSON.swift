package import AssetStore
package import JSON
package import Records

/// A record in the JSON format of the web services, indented for readers.
package enum RecordJSON {
    /// - Parameter links: creates the download links of its assets; `nil` for none.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    package static func text(of record: StoredRecord, links: AssetLinks?) throws -> String {
        var writer = JSONWriter()
        try writer.value(record, downloadURL: links.map { links in { links.downloadURL(of: $0, in: $1) } })
        do {
            return try laidOut(JSONReader.value(of: writer.bytes))
        } catch {
            throw RecordError(.internalError, "The stored fields can't be read: \(error)")
        }
    }

    /// Indents by two spaces per level. Values that fit on one line stay on it.
    package static func laidOut(_ value: JSONValue, indentation: String = "") -> String {
        let line = String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        let inner = indentation + "  "
        switch value {
        case .object(let object) where !object.isEmpty && (line.utf8.count > 72 || indentation.isEmpty):
            let members = object.map { member in
                "\(inner)\(quoted(member.name.string)): \(laidOut(member.value, indentation: inner))"
            }
            return "{\n" + members.joined(separator: ",\n") + "\n\(indentation)}"
        case .array(let elements) where !elements.isEmpty && line.utf8.count > 72:
            return "[\n" + elements.map { inner + laidOut($0, indentation: inner) }.joined(separator: ",\n") + "\n\(indentation)]"
        case .object(let object):
            if object.isEmpty { return "{}" }
            return "{ " + object.map { "\(quoted($0.name.string)): \(laidOut($0.value, indentation: inner))" }.joined(separator: ", ") + " }"
        case .array(let elements): return "[" + elements.map { laidOut($0, indentation: inner) }.joined(separator: ", ") + "]"
        default: return line
        }
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: JSONWriter.bytes(of: .string(text)), as: UTF8.self)
    }
}
