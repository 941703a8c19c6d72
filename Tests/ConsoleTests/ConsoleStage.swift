import Console
import ConsolePages
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Records
import TestSupport
import Testing

/// A console, and a client that runs no scripts.
protocol ConsoleStage: Sendable {
    /// The address of a database's pages.
    static var there: String { get }

    var client: any TestClientProtocol { get }
}

extension Console {
    /// Lets a client ask for the pages.
    func test(
        memory: MemoryBudget = MemoryBudget(), isSecure: Bool = false, as kind: TestingSetup = .router,
        _ body: @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let router = Routes()
        router.addGuards(trusting: .loopback, isSecure: isSecure, memory: memory)
        addRoutes(to: router)
        try await Application(router: router).test(kind, body)
    }
}

// In each of these, a path is one within the database, unless it begins with a slash. Another place is named by its
// environment, or by the address of its pages.
extension ConsoleStage {
    static var there: String { "/c/iCloud.com.example.App/development/private" }

    func get(_ path: String, _ headers: HTTPFields = [:], in place: String = Self.there) async throws -> TestResponse {
        try await client.execute(uri: Self.uri(path, place), method: .get, headers: headers) { $0 }
    }

    func post(_ path: String, _ form: String, _ headers: HTTPFields = [:], in place: String = Self.there) async throws
        -> TestResponse
    {
        try await client.execute(
            uri: Self.uri(path, place), method: .post, headers: headers, body: ByteBuffer(string: form)
        ) { $0 }
    }

    func post(
        _ path: String, _ fields: [(String, String)], _ headers: HTTPFields = [:], in place: String = Self.there
    ) async throws -> TestResponse {
        try await post(path, Self.encoded(fields), headers, in: place)
    }

    /// Sends a form with a file, as browsers do.
    func send(
        _ path: String, _ fields: [(String, String)], file: String? = nil, named fileName: String = "schema.ckdb"
    ) async throws -> TestResponse {
        var body = ""
        for (name, value) in fields {
            body += "--B0undary\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        if let file {
            body += "--B0undary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(fileName)\"\r\n"
            body += "Content-Type: application/octet-stream\r\n\r\n\(file)\r\n"
        }
        return try await post(
            path, body + "--B0undary--\r\n", [.contentType: "multipart/form-data; boundary=B0undary"])
    }

    /// Sends a form of a page, with some changed inputs and one pressed button.
    func send(
        _ path: String, of page: String, _ changes: [String: String?] = [:],
        button: (name: String, value: String)? = nil
    ) async throws -> TestResponse {
        let form = try #require(HTMLForm(page, sentTo: path), "There is no form for \(path)")
        var fields = form.fields.compactMap { name, value -> (String, String)? in
            guard let change = changes[name] else { return (name, value) }
            return change.map { (name, $0) }
        }
        for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
            if let value, !form.fields.contains(where: { $0.0 == name }) { fields.append((name, value)) }
        }
        if let button { fields.append(button) }
        return form.isGet
            ? try await get("\(form.action)?\(Self.encoded(fields))") : try await post(form.action, fields)
    }

    /// A complete page.
    func page(_ path: String, _ status: HTTPResponse.Status = .ok, in place: String = Self.there) async throws -> String
    {
        let answer = try await get(path, in: place)
        #expect(answer.status == status, "\(path)")
        return Self.text(answer)
    }

    func location(_ answer: TestResponse) throws -> String {
        #expect(answer.status == .seeOther)
        return try #require(answer.headers[.location])
    }

    static func text(_ answer: TestResponse) -> String {
        let text = String(buffer: answer.body)
        #expect(!text.holds("{{") && !text.holds("Optional(") && text.hasSuffix("</html>"))
        return text
    }

    static func encoded(_ fields: [(String, String)]) -> String {
        fields.map { "\(PercentEncoding.encoded($0.0))=\(PercentEncoding.encoded($0.1))" }.joined(separator: "&")
    }

    private static func uri(_ path: String, _ place: String) -> String {
        if path.hasPrefix("/") { return path }
        return (place.hasPrefix("/") ? place : there.replacing("/development/", with: "/\(place)/")) + "/\(path)"
    }
}
