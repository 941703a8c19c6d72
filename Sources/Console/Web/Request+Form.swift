internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Request {
    /// The fields of the submitted form, URL-encoded or multipart.
    /// - Parameter limit: the size limit of the form, in bytes.
    /// - Throws: the errors of `bodyBytes`, and `RecordError` TRY_AGAIN_LATER for a large form if the server is overloaded.
    package func form(limit: Int) async throws -> FormFields {
        let bytes = try await bodyBytes(limit: limit)
        let contentType = headers[.contentType]
        return try await WorkPool.prompt.run(on: bytes.count) { FormFields(bytes, contentType: contentType) }
    }
}

extension FormFields {
    /// Parses a URL-encoded or multipart form. Replaces invalid UTF-8.
    fileprivate init(_ bytes: [UInt8], contentType: String?) {
        guard let boundary = MultipartForm.boundary(in: contentType) else {
            self.init(encoded: bytes)
            return
        }
        self.init(MultipartForm(bytes, boundary: boundary).parts.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })
    }
}
