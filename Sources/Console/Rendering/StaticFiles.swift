internal import CEmbeddedFiles
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records

/// The style sheet, the scripts and the icons, from the binary, or from a folder during development.
///
/// Their addresses begin with a version of all of them. Scripts import each other by relative addresses, so these have
/// the version too, and browsers cache every file without asking again.
package struct StaticFiles: Sendable {
    private let folder: String?
    private let files: [String: [UInt8]]
    private let embeddedVersion: String

    init(folder: String?) {
        self.folder = folder
        files = EmbeddedFiles.staticFiles
        embeddedVersion = Self.version(of: files)
    }

    /// The address of a file.
    package func url(_ name: String) -> String { urls()(name) }

    /// The addresses of several files, by name. The version is found once: for this, a folder's files are all read.
    func urls() -> (String) -> String {
        let version = version
        return { "/static/\(version)/\($0)" }
    }

    /// The file at an address, which may name a version before it.
    package static func show(_ asked: ConsoleRequest) throws -> Answer {
        let parts = asked.context.parts.dropFirst().map(String.init)
        let version = parts.count > 1 ? parts.first : nil
        guard let name = parts.last,
            let response = asked.console.renderer.staticFiles.response(name, version: version, to: asked.request)
        else { throw HTTPError(.notFound) }
        return .response(response)
    }

    /// - Parameter version: the one in the address; `nil` for an address without one.
    /// - Returns: `nil` if the file does not exist.
    func response(_ name: String, version asked: String?, to request: Request) -> Response? {
        guard let bytes = bytes(of: name), let type = Self.type(of: name) else { return nil }
        let version = version
        let tag = "\"\(version)\""
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.eTag] = tag
        headers[.cacheControl] = asked == version ? "public, max-age=31536000, immutable" : "no-cache"
        let known = request.headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",").map { $0.trimmingSpaces } }
        if known.contains(where: { $0 == tag || $0 == "W/\(tag)" || $0 == "*" }) {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The folder's files may change at any time.
    private var version: String {
        folder == nil ? embeddedVersion : Self.version(of: files.keys.reduce(into: [:]) { $0[$1] = bytes(of: $1) })
    }

    private func bytes(of name: String) -> [UInt8]? {
        guard let embedded = files[name] else { return nil }
        guard let folder else { return embedded }
        return FileManager.default.contents(atPath: "\(folder)/\(name)").map { [UInt8]($0) }
    }

    /// FNV-1a is enough to distinguish versions of the project's own files.
    static func version(of files: [String: [UInt8]]) -> String {
        var hash = FNV1a()
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            hash.add(text: name)
            hash.add(bytes)
            hash.add(CollectionOfOne(0xFF))
        }
        return String(hash.value, radix: 36)
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

// MARK: - Embedded files

/// The files of `Templates` and `Public` in the binary, by name. Each call copies them, because they are needed once.
enum EmbeddedFiles {
    static var templates: [String: [UInt8]] { files(embedded_templates()) }
    static var staticFiles: [String: [UInt8]] { files(embedded_public()) }

    private static func files(_ list: UnsafePointer<embedded_file>?) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        var next = list
        while let file = next?.pointee, let name = file.name, let text = file.text {
            files[String(cString: name)] = Array(String(cString: text).utf8)
            next = next?.advanced(by: 1)
        }
        return files
    }
}
