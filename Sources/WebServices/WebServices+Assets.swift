internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records

extension WebServices {
    /// Handles all requests below `/assets`: uploads and downloads of files.
    func assets(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        let response = try await guarded(request, context) { try await asset(request, context) }
        let isRefusedUpload = response.status != .ok && [.post, .put].contains(request.method)
        // The rest of a refused body is not read, so the connection cannot be reused.
        return isRefusedUpload ? response.endingConnection(of: context) : response
    }

    private func asset(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        guard let path = AssetPath(String(request.path)) else {
            throw RecordError(
                .notFound,
                "There is nothing at this address; expected /assets/{container}/{environment}/upload/{ticket} from assets/upload, or "
                    + "/assets/{container}/{environment}/download/{ticket}/{name} from a record")
        }
        let place = RequestAssets(assets, path.container, path.environment, for: request)
        switch path.purpose {
        case .upload(let ticket):
            try SkylightServices.check(request.method, of: "upload", allowing: .post, .put)
            // Its bytes are hashed.
            return try await ConcurrencyPool.run {
                try await AssetUploads(place: place).response(to: request, ticket: ticket)
            }
        case .download(let ticket, let fileName):
            try SkylightServices.check(request.method, of: "download", allowing: .get)
            return try await AssetDownloads(place: place) {
                faultServices.middleware.isGone(request, in: path.container, path.environment)
            }
            .response(to: request, in: context, ticket: ticket, fileName: fileName)
        }
    }
}

// MARK: - Assets of a request

/// The location of an environment's assets, for the duration of one request.
struct RequestAssets: Sendable {
    let stores: AssetStores
    let container: ContainerID
    let environment: Records.Environment
    private let request: Request

    init(_ stores: AssetStores, _ container: ContainerID, _ environment: Records.Environment, for request: Request) {
        self.stores = stores
        self.container = container
        self.environment = environment
        self.request = request
    }

    /// - Returns: `nil` if the container does not exist. A lookup must not create it.
    func existingStore() async throws -> AssetStore? {
        try await stores.existingStore(container, environment)
    }

    func links() async throws -> AssetLinks {
        try await stores.links(container, environment, origin: request.ownOrigin)
    }

    /// The download addresses of assets. `nil` if there are none, or if the engine keeps no files of this container; the
    /// asset store is then not opened.
    func addresses(ifAny mayHoldAssets: Bool) async throws -> AssetAddress? {
        guard mayHoldAssets, stores.keepsFiles(of: container) else { return nil }
        let links = try await links()
        return { asset, field in links.downloadURL(of: asset, in: field) }
    }
}

// MARK: - Uploads

/// Receives the bytes of a file at an address from `assets/upload` (Apple's reference page "Uploading Assets").
///
/// The body is read only after the upload is authorized. A failed upload closes its connection, so that the rest of the
/// body need not be read.
struct AssetUploads: Sendable {
    /// The maximum size in bytes of a form without its file.
    static let envelopeLimit = 64 << 10

    let place: RequestAssets

    func response(to request: Request, ticket: String) async throws -> Response {
        guard let store = try await place.existingStore() else { throw Self.unknown }
        let asset: Asset
        do {
            asset = try await receive(request, ticket: ticket, in: store)
        } catch let refusal as Refusal where refusal.status == .contentTooLarge {
            throw RecordError(
                .quotaExceeded,
                "The asset is larger than \(store.sizeLimit) bytes, the limit of this server (--asset-size-limit)")
        }
        RequestRecorder.current?.received(file: asset.size)
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("singleFile")
            writer.object { $0.members(ofUploaded: asset) }
        }
        RequestRecorder.current?.answered(writer.bytes)
        return .json(writer.bytes)
    }

    /// The file is the whole body, or the only file of a multipart form.
    private func receive(_ request: Request, ticket: String, in store: AssetStore) async throws -> Asset {
        let fileName = try Self.fileName(of: request)
        guard let boundary = try MultipartBoundary(contentType: request.headers[.contentType]) else {
            let body = UploadBody(base: request.decodedBody(limit: store.sizeLimit))
            return try await store.receive(
                body, ticket: ticket, fileName: fileName, declaredSize: Self.declaredSize(of: request))
        }
        // The declared length is that of the whole form. The store counts the bytes of the file itself.
        let limit = store.sizeLimit.addingSaturated(Int64(Self.envelopeLimit))
        let file = MultipartFile(base: UploadBody(base: request.decodedBody(limit: limit)), boundary: boundary)
        return try await store.receive(file, ticket: ticket, fileName: fileName, declaredSize: nil)
    }

    private static let unknown = RecordError(
        .notFound,
        "Nothing can be uploaded here: the address is not from assets/upload of this server, or was changed; get a new one with assets/upload"
    )

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

/// The bytes of an upload as they arrive. Converts errors of the connection to ``ConnectionLost``, so that they are not
/// reported as server errors.
struct UploadBody<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            do {
                return try await base.next()
            } catch let refusal as Refusal {
                throw refusal
            } catch let error as CancellationError {
                throw error
            } catch {
                throw ConnectionLost(cause: error)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}

// MARK: - Downloads

/// Serves the bytes of files. A `downloadURL` from a record carries a ticket that authorizes the download.
///
/// Downloads with a good ticket make no database query. The headers keep browsers from running the content: the
/// file is an attachment in a sandbox without an origin, and its media type is not sniffed.
struct AssetDownloads: Sendable {
    let place: RequestAssets
    /// Returns true to answer as if the address had expired, although it is valid.
    let isGone: @Sendable () -> Bool

    func response(to request: Request, in context: ServingRequestContext, ticket text: String, fileName: String)
        async throws -> Response
    {
        guard let store = try await place.existingStore(),
            let ticket = try await store.opened({ $0.openDownload(text, name: fileName) })
        else {
            throw Self.unknown
        }
        if isGone() { store.withdraw(ticket) }
        let form = RequestedForm(request, compressedTag: Self.tag(of: ticket.checksum, .gzip))
        let file = try await store.open(ticket, coding: form == .identity ? .identity : .gzip)
        let secondsLeft = max(0, ticket.expires.milliseconds - place.stores.now().milliseconds) / 1000
        let headers = Self.headers(of: file, named: fileName, secondsLeft: secondsLeft)
        if file.coding == .identity, form == .onlyGzip { return Self.compressed(file, headers, for: request) }
        return ServedFile(
            handle: file.handle, size: file.size, etag: Self.tag(of: file.checksum, file.coding),
            lastModified: file.modified, headers: headers,
            holding: file
        ).response(to: request, in: context)
    }

    /// A file that is compressed while it is sent. Its length is unknown in advance, so ranges are not supported.
    private static func compressed(_ file: AssetFile, _ headers: HTTPFields, for request: Request) -> Response {
        let tag = "\"\(tag(of: file.checksum, .gzip))\""
        // Entity tags contain no commas, so the header need not be split.
        if request.headers[values: .ifNoneMatch].contains(where: { $0 == "*" || $0.contains(tag) }) {
            var held: HTTPFields = [.eTag: "W/" + tag]
            for name in [HTTPField.Name.cacheControl, .vary] { held[name] = headers[name] }
            return Response(status: .notModified, headers: held)
        }
        var response = Response(status: .ok, headers: headers)
        response.headers[.contentEncoding] = "gzip"
        response.headers[.acceptRanges] = "none"
        // The tag is weak, because another compression run may produce other bytes.
        response.headers[.eTag] = "W/" + tag
        response.body = .gzip(of: file.handle, size: file.size, level: compressionLevel, holding: file)
        return response
    }

    private static let compressionLevel = 6

    private static func tag(of checksum: FileChecksum, _ coding: AssetFile.Coding) -> String {
        coding == .gzip ? "\(checksum)-gzip" : "\(checksum)"
    }

    private static func headers(of file: AssetFile, named fileName: String, secondsLeft: Int64) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: file.type.mediaType,
            .contentDisposition: disposition(fileName),
            .cacheControl: "private, max-age=\(secondsLeft), immutable",
            .vary: "Accept-Encoding",
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'",
        ]
        if file.coding == .gzip { headers[.contentEncoding] = "gzip" }
        // The size without compression, for both codings.
        headers[.skylightSize] = String(file.identitySize)
        // Pages of other origins may embed the file. The guard of origins decides which ones.
        headers[.crossOriginResourcePolicy] = "cross-origin"
        return headers
    }

    /// The file name in UTF-8 for browsers that support RFC 8187, and in ASCII for the others.
    private static func disposition(_ fileName: String) -> String {
        let plain = String(
            String.UnicodeScalarView(
                fileName.unicodeScalars.map { scalar in
                    let isPlain = (0x20...0x7E).contains(scalar.value) && !["\"", "\\", "%"].contains(scalar)
                    return isPlain ? scalar : "_"
                }))
        return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(PercentEncoding.encoded(fileName))"
    }

    private static let unknown = RecordError(
        .notFound,
        "There is no file at this address: it is not from a record of this server, or was changed; fetch the record again"
    )
}
