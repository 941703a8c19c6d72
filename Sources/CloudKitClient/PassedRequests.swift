internal import AsyncHTTPClient
package import NIOCore
internal import NIOHTTP1

/// The answer to a request that was passed on.
package struct PassedAnswer: Sendable {
    package let status: Int
    package let reasonPhrase: String
    package let headers: [(name: String, value: String)]
    package let body: PassedBody
}

/// The body of an answer, which several readers read one after the other.
package actor PassedBody {
    private var parts: PacedBody.AsyncIterator

    init(_ body: PacedBody) { parts = body.makeAsyncIterator() }

    /// - Throws: errors for ``Exchanger/failure(_:reading:)``.
    package func next() async throws -> ByteBuffer? {
        var rest = parts
        defer { parts = rest }
        return try await rest.next(isolation: self)
    }
}

extension Exchanger {
    /// The name of such a request in errors. Its target may contain credentials.
    private static let passingOn = "passing on"

    /// Sends a request of another client once, with the credentials that it has, and returns when its answer begins.
    /// Redirects are answers too.
    /// - Parameters:
    ///   - target: the path and the query, as sent.
    ///   - headers: without `Host`, and without those that are about a connection or the length of the body.
    /// - Throws: ``CloudKitFailure``; `CancellationError`.
    package func passOn(
        _ method: String, _ target: String, _ headers: [(name: String, value: String)], _ body: [UInt8]
    ) async throws -> PassedAnswer {
        var request = HTTPClientRequest(url: transport.address + target)
        request.method = HTTPMethod(rawValue: method)
        request.headers = HTTPHeaders(headers.map { ($0.name, $0.value) })
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let response = try await transport.answer(to: request, of: body.count)
            return PassedAnswer(
                status: Int(response.status.code), reasonPhrase: response.status.reasonPhrase,
                headers: response.headers.map { (name: $0.name, value: $0.value) },
                body: PassedBody(transport.body(of: response)))
        } catch {
            throw failure(error, reading: Self.passingOn)
        }
    }
}
