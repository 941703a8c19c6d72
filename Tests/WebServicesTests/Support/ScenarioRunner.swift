import Accounts
import RecordStore
import Records
import Testing

/// Plays a scenario against a server.
struct ScenarioRunner {
    static let container = "iCloud.com.example.Test"
    static let address = DatabaseAddress(
        container: ContainerID(container) ?? { preconditionFailure("a container identifier") }(),
        environment: .development, scope: .private)
    static let developer = Caller(userRecordName: User.recordName(ofHandle: User.developerHandle))

    let server: TestServer
    /// The values that steps kept.
    private var kept: [String: String] = [:]

    init(_ server: TestServer) {
        self.server = server
        kept["developer"] = Self.developer.userRecordName.string
        kept["anna"] = User.recordName(ofHandle: "anna").string
    }

    mutating func play(_ scenario: Scenario) async throws {
        for (number, step) in scenario.steps.enumerated() {
            switch step {
            case .act(let act): try await act(server.engine)
            case .call(let call): try await play(call, "step \(number + 1) of '\(scenario.name)'")
            }
        }
    }

    private mutating func play(_ call: Step.Call, _ what: String) async throws {
        let path = filled(call.path)
        let target = path.hasPrefix("/") ? path : "/database/1/\(Self.container)/development/\(path)"
        let body = Array(filled(call.body).utf8)
        var head =
            "\(call.method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.count)\r\n"
        for (name, value) in call.headers { head += "\(name): \(value)\r\n" }
        let responses = try await server.client.exchange(Array((head + "\r\n").utf8) + body)
        let response = try #require(responses.first, "no answer at \(what)")
        #expect(responses.count == 1, "\(what)")
        #expect(response.status == call.status, "\(what): \(response.text.prefix(2000))")
        #expect(response.headers["content-type"] == "application/json; charset=UTF-8", "\(what)")
        let json = try response.json()
        let differences = Subset.differences(try JSONReader.value(of: filled(call.expected)), json)
        #expect(differences.isEmpty, "\(what): \(differences.joined(separator: "; ")) in \(response.text.prefix(2000))")
        for (name, place) in call.keeping {
            let value = try #require(
                Subset.value(at: place, in: json), "\(what): nothing at \(place) in \(response.text.prefix(2000))")
            if case .string(let string) = value {
                kept[name] = string
            } else {
                kept[name] = String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
            }
        }
    }

    private func filled(_ text: String) -> String {
        // Longer names first, so that $tag2 is not taken for $tag.
        kept.sorted { $0.key.count > $1.key.count }.reduce(text) { $0.replacing("$" + $1.key, with: $1.value) }
    }
}
