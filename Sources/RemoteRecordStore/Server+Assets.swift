internal import AssetStore
internal import AsyncHTTPClient
internal import Foundation
internal import JSON
internal import NIOCore
internal import NIOHTTP1
internal import Records

// What has no end that could be waited for within a fixed time: only silence ends it.

extension Server {
    /// How long a server may take to begin an answer to an upload: the file is synced before.
    private static let uploadPatience: TimeAmount = .hours(24)

    /// Fetches a file, or what is left of it.
    func download(_ url: String, from offset: Int64) async throws -> AssetDownload {
        // However the address names the server, which may be known under several names: the file is fetched from this one.
        guard let path = URL(string: url)?.path(percentEncoded: true), path.hasPrefix(AssetPath.root) else {
            throw RecordError(.badRequest, "'\(url)' is not the address of an asset on the server at \(address)")
        }
        // Compressed, an offset would count other bytes.
        var headers: HTTPHeaders = ["Accept-Encoding": "identity"]
        if offset > 0 { headers.add(name: "Range", value: "bytes=\(offset)-") }
        let response = try await open(.GET, path, headers: headers, accepting: offset > 0 ? [.partialContent] : [.ok])
        guard let size = response.headers.first(name: "Content-Length").flatMap({ Int64($0) }) else {
            throw RecordError(.internalError, "What answers at \(address) is no Skylight, or one of another version: a file without its length")
        }
        return AssetDownload(response.body, size: size, from: self)
    }

    /// Sends a file.
    func upload<Body: AsyncSequence & Sendable>(
        _ path: String, _ body: Body, size: Int64?, headers: HTTPHeaders
    ) async throws -> Answer where Body.Element == ByteBuffer {
        var headers = headers
        headers.add(name: "Content-Type", value: "application/octet-stream")
        let response = try await open(
            .POST, path, headers: headers, body: .stream(body, length: size.map { .known($0) } ?? .unknown), timeout: Self.uploadPatience,
            accepting: [.ok], purpose: .saves)
        return try await answer(of: response, .saves)
    }

    /// Lines of JSON as they come.
    func lines(_ method: HTTPMethod, _ path: String, _ body: [UInt8]? = nil) async throws -> AsyncThrowingStream<Answer, any Error> {
        let response = try await open(method, path, headers: [:], body: body.map { .bytes(ByteBuffer(bytes: $0)) }, accepting: [.ok])
        let (lines, continuation) = AsyncThrowingStream.makeStream(of: Answer.self)
        let reading = Task {
            do {
                var rest = ByteBuffer()
                for try await part in response.body {
                    rest.writeImmutableBuffer(part)
                    while let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                        let line = rest.readBytes(length: end - rest.readerIndex) ?? []
                        rest.moveReaderIndex(forwardBy: 1)
                        continuation.yield(try answer(.ok, ByteBuffer(bytes: line)))
                    }
                    rest.discardReadBytes()
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: failure(error, .reads))
            }
        }
        continuation.onTermination = { _ in reading.cancel() }
        return lines
    }
}
