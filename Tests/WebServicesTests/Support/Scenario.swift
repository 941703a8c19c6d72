import RecordStore
import Records
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
