import Accounts
import Records
import RecordStore
import Testing

/// A sequence of requests. The status and the relevant part of each answer are compared.
struct Scenario: Sendable, CustomTestStringConvertible {
    let name: String
    let steps: [Step]

    var testDescription: String { name }

    init(_ name: String, _ steps: Step...) { self.init(name, parts: steps) }

    /// - Parameter parts: several steps each.
    init(_ name: String, parts: [Step]...) {
        self.name = name
        steps = parts.flatMap(\.self)
    }
}

/// A request, or an action on the engine.
enum Step: Sendable {
    case call(Call)
    case act(@Sendable (any RecordEngine) async throws -> Void)

    struct Call: Sendable {
        var method: String
        var path: String
        var body: String
        var headers: [(String, String)]
        var status: Int
        var expected: String
        var keeping: [String: String]
    }
}

/// A request with its expected status and a part of the expected answer.
///
/// `$name` in path, body and expectation stands for the value that an earlier step kept under that
/// name, given by its place such as `records[0].recordChangeTag`. `Subset` describes expectations.
func post(
    _ path: String, _ body: String = "", _ status: Int = 200, _ expected: String = "{}",
    keeping: [String: String] = [:], as user: String? = nil
) -> Step {
    call("POST", path, body, status, expected, keeping: keeping, as: user)
}

func get(_ path: String, _ status: Int = 200, _ expected: String = "{}", as user: String? = nil) -> Step {
    call("GET", path, "", status, expected, as: user)
}

func call(
    _ method: String, _ path: String, _ body: String = "", _ status: Int, _ expected: String = "{}",
    keeping: [String: String] = [:],
    as user: String? = nil
) -> Step {
    .call(
        Step.Call(
            method: method, path: path, body: body, headers: user.map { [("X-Skylight-User", $0)] } ?? [],
            status: status, expected: expected,
            keeping: keeping))
}

/// Sets the indexes of a field in the development schema.
func index(_ field: String, of type: Name, _ indexes: Indexes) -> Step {
    .act { engine in
        let database = try await engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
        _ = try await database.require(.editSchema).edit([
            .setIndexes(indexes, of: FieldKey(schemaName: Name(field)), in: type)
        ])
    }
}

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

/// Compares an answer with the expected part of it.
///
/// Objects may have more members than expected; arrays must have the expected length. The strings
/// `<absent>`, `<any>` and `<has …>` stand for no such member, any value, and a string that contains a text.
enum Subset {
    static func differences(_ expected: JSONValue, _ actual: JSONValue?, at place: String = "") -> [String] {
        switch (expected, actual) {
        case (.string("<absent>"), nil): return []
        case (.string("<absent>"), _): return ["\(place) is there"]
        case (_, nil): return ["\(place) is missing"]
        case (.string("<any>"), _): return []
        case (.string(let pattern), .string(let text)?) where pattern.hasPrefix("<has "):
            return text.contains(pattern.dropFirst(5).dropLast()) ? [] : ["\(place) is '\(text)'"]
        case (.object(let expected), .object(let actual)?):
            return expected.flatMap {
                differences($0.value, actual[$0.name], at: place.isEmpty ? $0.name.string : "\(place).\($0.name)")
            }
        case (.array(let expected), .array(let actual)?):
            if expected.count != actual.count {
                return ["\(place) has \(actual.count) elements, not \(expected.count)"]
            }
            return zip(expected, actual).enumerated().flatMap { differences($1.0, $1.1, at: "\(place)[\($0)]") }
        default:
            return expected == actual
                ? [] : ["\(place) is not \(String(decoding: JSONWriter.bytes(of: expected), as: UTF8.self))"]
        }
    }

    /// The value at a place such as `records[0].fields.title.value`.
    static func value(at place: String, in json: JSONValue) -> JSONValue? {
        place.replacing("[", with: ".").replacing("]", with: "").split(separator: ".").reduce(json as JSONValue?) {
            value, part in
            switch value {
            case .object(let object)?: return object[Name(part)]
            case .array(let array)?: return Int(part).flatMap { array.indices.contains($0) ? array[$0] : nil }
            default: return nil
            }
        }
    }
}
