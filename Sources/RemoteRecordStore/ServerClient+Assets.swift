internal import AssetStore
internal import AsyncHTTPClient
internal import CloudKitClient
internal import Foundation
internal import JSON
internal import NIOCore
internal import NIOHTTP1
internal import Records

// Files, and streams of unknown length. Files have to come with some speed; streams may be silent, and end when not even keep-alive messages come.

extension ServerClient {
    /// The time limit for the start of the answer to an upload whose size is not known.
    private static let uploadPatience: TimeAmount = .hours(24)

    /// Downloads a file from an offset.
    func download(_ url: String, from offset: Int64) async throws -> AssetDownload {
        // Ignores the host in the address, because the server may have several names. The file is always fetched from this server.
        guard let path = URL(string: url)?.path(percentEncoded: true), path.hasPrefix(AssetPath.root) else {
            throw RecordError(.badRequest, "'\(url)' is not the address of an asset on the server at \(address)")
        }
        // With compression, the offset would count compressed bytes.
        var headers: HTTPHeaders = ["Accept-Encoding": "identity"]
        if offset > 0 { headers.add(name: "Range", value: "bytes=\(offset)-") }
        let response = try await open(.GET, path, headers: headers, accepting: offset > 0 ? [.partialContent] : [.ok])
        guard let size = response.headers.first(name: "Content-Length").flatMap({ Int64($0) }) else {
            throw RecordError(.internalError, "The server at \(address) is not a Skylight, or has another version: it sent a file without its length")
        }
        return AssetDownload(response.body, size: size, from: self)
    }

    /// The time in which the answer to an upload has to begin. The server syncs the file first.
    private static func timeToAnswer(_ size: Int64) -> TimeAmount {
        .seconds(60) + .milliseconds(Int64(min(TransferPace.time(for: size) / .milliseconds(1), 1e12)))
    }

    /// Uploads a file.
    func upload<Body: AsyncSequence & Sendable>(
        _ path: String, _ body: Body, size: Int64?, headers: HTTPHeaders
    ) async throws -> Answer where Body.Element == ByteBuffer {
        var headers = headers
        headers.add(name: "Content-Type", value: "application/octet-stream")
        let paced = PacedUpload(body)
        let response: HTTPClientResponse
        do {
            response = try await paced.watching { [headers] in
                try await self.open(
                    .POST, path, headers: headers, body: .stream(paced, length: size.map { .known($0) } ?? .unknown),
                    timeout: size.map(Self.timeToAnswer) ?? Self.uploadPatience, accepting: [.ok], purpose: .saves)
            }
        } catch let error as TransferPace.TooSlow {
            throw failure(error, .saves)
        }
        return try await answer(of: response, .saves)
    }

    /// Streams lines of JSON.
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
