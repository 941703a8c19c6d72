internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Records
internal import Text

/// Receives the bytes of a file at an address from `assets/upload` (Apple's reference page "Uploading Assets").
///
/// The body is read only after the upload is authorized. A failed upload closes its connection, so that the rest of the body need not be read.
struct AssetUploads: Sendable {
    let place: RequestAssets

    func response(to request: Request, ticket: String) async throws -> Response {
        guard let store = try await place.existingStore() else { throw Self.unknown }
        let asset: Asset
        do {
            asset = try await receive(request, ticket: ticket, in: store)
        } catch let refusal as Refusal where refusal.status == .contentTooLarge {
            throw RecordError(
                .quotaExceeded, "The asset is larger than \(store.sizeLimit) bytes, the limit of this server (--asset-size-limit)")
        }
        RequestNote.current?.received(file: asset.size)
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("singleFile")
            writer.object { $0.members(ofUploaded: asset) }
        }
        RequestNote.current?.answered(writer.bytes)
        return .json(writer.bytes)
    }

    /// The file is the whole body, or the only file of a multipart form.
    private func receive(_ request: Request, ticket: String, in store: AssetStore) async throws -> Asset {
        let fileName = try Self.fileName(of: request)
        guard let boundary = try MultipartBoundary(contentType: request.headers[.contentType]) else {
            let body = UploadBody(base: request.decodedBody(limit: store.sizeLimit))
            return try await store.receive(body, ticket: ticket, fileName: fileName, declaredSize: Self.declaredSize(of: request))
        }
        // The declared length is that of the whole form. The store counts the bytes of the file itself.
        let limit = store.sizeLimit.addingSaturated(Int64(MultipartParser.envelopeLimit))
        let file = MultipartFile(base: UploadBody(base: request.decodedBody(limit: limit)), boundary: boundary)
        return try await store.receive(file, ticket: ticket, fileName: fileName, declaredSize: nil)
    }

    private static let unknown = RecordError(
        .notFound, "Nothing can be uploaded here: the address is not from assets/upload of this server, or was changed; get a new one with assets/upload")

    /// The original name of the file, from a header of Skylight's own with percent-encoded UTF-8.
    private static func fileName(of request: Request) throws -> String? {
        guard let header = request.headers[.skylightFileName], !header.isEmpty else { return nil }
        guard let name = PercentEncoding.decoded(header) else {
            throw RecordError(.badRequest, "X-Skylight-File-Name must be the file's name in UTF-8, percent-encoded")
        }
        return name
    }

    /// The file size from Content-Length. `nil` for a compressed body, whose Content-Length is the compressed size.
    private static func declaredSize(of request: Request) -> Int64? {
        request.headers.contains(.contentEncoding) ? nil : request.headers[.contentLength].flatMap { Int64($0) }
    }
}
