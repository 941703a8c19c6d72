internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Text

/// The style sheet, the scripts and the icons, from the binary, or from a folder during development.
package struct StaticFiles: Sendable {
    private struct File: Sendable {
        let bytes: [UInt8]
        let tag: String
    }

    private let folder: String?
    private let files: [String: File]

    init(folder: String?) {
        self.folder = folder
        files = EmbeddedFiles.staticFiles.mapValues { File(bytes: $0, tag: Self.tag(of: $0)) }
    }

    /// The address of a file. It contains the file's version, so browsers can cache it without revalidation.
    package func url(_ name: String) -> String {
        file(name).map { "/static/\(name)?v=\($0.tag)" } ?? "/static/\(name)"
    }

    /// - Returns: `nil` if the file does not exist.
    func response(_ name: String, to request: Request) -> Response? {
        guard let file = file(name), let type = Self.type(of: name) else { return nil }
        let quoted = "\"\(file.tag)\""
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.eTag] = quoted
        let isVersioned = request.uri.query.map { $0 == "v=\(file.tag)" } ?? false
        headers[.cacheControl] = isVersioned ? "public, max-age=31536000, immutable" : "no-cache"
        let known = request.headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",").map { $0.trimmingSpaces } }
        if known.contains(where: { $0 == quoted || $0 == "W/\(quoted)" || $0 == "*" }) {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes)))
    }

    private func file(_ name: String) -> File? {
        guard let embedded = files[name] else { return nil }
        guard let folder else { return embedded }
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else { return nil }
        return File(bytes: [UInt8](data), tag: Self.tag(of: [UInt8](data)))
    }

    private static func tag(of bytes: [UInt8]) -> String {
        // FNV-1a is enough to distinguish versions of the project's own files.
        String(FNV1a(bytes).value, radix: 36)
    }

    private static func type(of name: String) -> String? {
        switch name.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: nil
        }
    }
}
