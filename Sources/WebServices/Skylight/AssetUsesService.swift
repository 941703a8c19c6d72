internal import JSON
internal import RecordStore
internal import Records

/// `assets/uses`: lists the records that refer to the same file.
struct AssetUsesService: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let checksum = try body.fileChecksum()
        let limit = try body.widePageLimit().records
        let database = try await call.database()
        let uses = try await database.uses(of: checksum, limit: limit)
        writer.object { writer in
            writer.name("visible")
            writer.array { writer in
                for use in uses.visible { writer.value(use) }
            }
            writer.member("total", Int64(uses.total))
        }
    }
}

extension RequestObject {
    /// - Throws: `RecordError` BAD_REQUEST if the checksum is missing or malformed.
    func fileChecksum() throws -> FileChecksum {
        let kind = "64 hexadecimal digits in lower case"
        let text = try required("fileChecksum", kind, string("fileChecksum"))
        guard let checksum = FileChecksum(text) else { throw RecordError.unexpectedInput("Expected 'fileChecksum' to be \(kind)") }
        return checksum
    }
}
