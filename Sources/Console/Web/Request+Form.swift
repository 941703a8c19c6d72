internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Request {
    /// The fields of the form that was sent, of either kind.
    /// - Parameter limit: bytes that it may have.
    /// - Throws: as `bodyBytes`, and `RecordError` TRY_AGAIN_LATER for a large form when the server has too much to do.
    func form(limit: Int) async throws -> FormFields {
        let bytes = try await bodyBytes(limit: limit)
        let contentType = headers[.contentType]
        return try await WorkPool.prompt.run(on: bytes.count) { FormFields(bytes, contentType: contentType) }
    }
}

extension FormFields {
    /// Reads a sent form of either kind. What is not UTF-8 is replaced.
    fileprivate init(_ bytes: [UInt8], contentType: String?) {
        guard let boundary = MultipartForm.boundary(in: contentType) else {
            self.init(encoded: bytes)
            return
        }
        self.init(MultipartForm(bytes, boundary: boundary).parts.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })
    }
}
