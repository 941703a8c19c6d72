internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import Text

/// Serves the bytes of files. A `downloadURL` from a record carries a ticket that authorizes the download.
///
/// Downloads with a good ticket make no database query. The headers keep browsers from running the content: the
/// file is an attachment in a sandbox without an origin, and its media type is not sniffed.
struct AssetDownloads: Sendable {
    let place: RequestAssets
    /// True if the address must be gone from now on, though it is good.
    let isGone: @Sendable () -> Bool

    func response(to request: Request, in context: ServingRequestContext, ticket text: String, fileName: String) async throws -> Response {
        guard let store = try await place.existingStore(), let ticket = try await store.opened({ $0.openDownload(text, name: fileName) }) else {
            throw Self.unknown
        }
        if isGone() { store.withdraw(ticket) }
        let form = RequestedForm(request, compressedTag: Self.tag(of: ticket.checksum, .gzip))
        let file = try await store.open(ticket, coding: form == .identity ? .identity : .gzip)
        let secondsLeft = max(0, ticket.expires.milliseconds - place.stores.now().milliseconds) / 1000
        let headers = Self.headers(of: file, named: fileName, secondsLeft: secondsLeft)
        if file.coding == .identity, form == .onlyGzip { return Self.compressed(file, headers, for: request) }
        return ServedFile(
            handle: file.handle, size: file.size, etag: Self.tag(of: file.checksum, file.coding), lastModified: file.modified, headers: headers,
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
        .notFound, "There is no file at this address: it is not from a record of this server, or was changed; fetch the record again")
}
