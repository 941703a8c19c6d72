internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore

/// What a form carries, which bounds its body. No form has a limit by default: one that carries a record and has the limit of
/// one that does not loses what somebody typed.
package struct FormLimit: Sendable {
    /// The largest body of the form, as it is sent.
    package let bytes: Int

    /// A few names, such as those of a user and a container.
    package static let names = FormLimit(bytes: 64 << 10)
    /// Ticks, choices and short texts. Of records, names alone: 200 with zones, each of the greatest length.
    package static let choices = FormLimit(bytes: 1 << 20)
    /// A file, and a few short texts beside it.
    package static let file = FormLimit(bytes: Console.largestForm)

    /// The fields of a record of the largest size, so many times.
    package static func record(times: Int) -> FormLimit { texts(of: times * BatchModifier.recordSizeLimit) }

    /// Texts that have so many bytes before percent-encoding, which triples them at most. A line end counts as two, as in JSON.
    package static func texts(of size: Int) -> FormLimit { FormLimit(bytes: 3 * size + choices.bytes) }
}

extension Request {
    /// The fields of the submitted form, URL-encoded or multipart.
    /// - Throws: the errors of `bodyBytes`, and `RecordError` TRY_AGAIN_LATER for a large form if the server is overloaded.
    package func form(_ limit: FormLimit) async throws -> FormFields {
        let bytes = try await bodyBytes(limit: limit.bytes)
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
