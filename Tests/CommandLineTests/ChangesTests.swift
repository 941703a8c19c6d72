import Foundation
import Records
import TestSupport
import Testing

@Suite(.serialized) struct ChangesTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let container = ["--container", "iCloud.com.example.X"]
    private static let zone = ["--zone", "Z", "--container", "iCloud.com.example.X"]

    private func save(_ names: [String]) async throws {
        let file = try write("k\n" + names.map { $0 + "\n" }.joined(), to: "rows.csv")
        let result = try await run(["import", file, "--type", "T", "--name-field", "k"] + Self.zone)
        #expect(result.status == 0, "\(result.errors)")
    }

    private func lines(_ result: Command.Result) -> [String] {
        result.output.split(separator: "\n").map(String.init)
    }

    /// The current token.
    private func token(_ place: [String] = zone) async throws -> String {
        let result = try await run(["changes", "--token-only"] + place)
        #expect(result.status == 0, "\(result.errors)")
        return result.output.trimmingCharacters(in: .newlines)
    }

    @Test func changesOfAZone() async throws {
        try await save(["a", "b"])
        let before = try await token()
        let all = lines(try await run(["changes"] + Self.zone))
        #expect(all.count == 3)
        #expect(all[0].contains(/^created +[0-9]+ +T +a$/) && all[1].contains(/^created +[0-9]+ +T +b$/))
        #expect(all[2] == "Token: \(before)")
        try await save(["b", "c"])
        let since = lines(try await run(["changes", "--since", before] + Self.zone))
        #expect(since.count == 3)
        #expect(since[0].contains(/^modified +[0-9]+ +T +b$/) && since[1].contains(/^created +[0-9]+ +T +c$/))
        #expect(since[2] == "Token: \(try await token())")
        let nothing = lines(try await run(["changes", "--since", token()] + Self.zone))
        #expect(nothing == ["Token: \(try await token())"])
        let json = try lines(try await run(["changes", "--since", before, "--json"] + Self.zone)).map {
            try JSONReader.value(of: $0)
        }
        guard json.count == 3, case .object(let change) = json[0], case .object(let record)? = change["record"],
            case .object(let last) = json[2]
        else {
            Issue.record("Not what was expected: \(json)")
            return
        }
        #expect(change["change"] == "modified" && record["recordName"] == "b" && record["fields"] != nil)
        #expect(last["syncToken"] == .string(try await token()))
    }

    @Test func moreThanAPage() async throws {
        try await save((0..<1300).map { "r\($0)" })
        let all = lines(try await run(["changes"] + Self.zone))
        #expect(all.count == 1301)
        #expect(Set(all).count == 1301)
    }

    @Test func changesOfADatabase() async throws {
        try await save(["a"])
        let place = Self.container
        let before = try await token(place)
        let all = lines(try await run(["changes"] + place))
        #expect(all.count == 2)
        #expect(all[0].contains(/^changed +Z( |$)/))
        #expect(all[1] == "Token: \(before)")
        #expect(try await run(["zone", "delete", "Z", "--yes"] + place).status == 0)
        let since = lines(try await run(["changes", "--since", before, "--json"] + place))
        #expect(since.count == 2)
        #expect(since[0].contains("\"change\":\"deleted\"") && since[0].contains("\"zoneName\":\"Z\""))
    }

    @Test(arguments: [
        (["--database", "public"], Int32(64), "The public database has no changes"),
        (["--zone", "_defaultZone"], 64, "The default zone has no changes"),
        (["--token-only", "--follow"], 64, "remove --since and --follow"), (["--since", ""], 64, "--since is empty"),
        (["--database", "shared", "--zone", "Z"], 64, "add --zone-owner"),
        (["--zone", "None"], 1, "Zone does not exist"),
        (["--since", "nonsense"], 1, "Unknown sync continuation type"),
    ])
    func whatHasNoChanges(arguments: [String], status: Int32, message: String) async throws {
        try await save(["a"])
        let result = try await run(["changes"] + Self.container + arguments)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test func followNeedsAServer() async throws {
        try await save(["a"])
        let result = try await run(["changes", "--follow", "--json"] + Self.zone)
        #expect(result.status == 1)
        #expect(try result.errorJSON["code"] == "NO_SERVER")
    }

    @Test(arguments: [SIGINT, SIGTERM]) func followGoesOnUntilItIsAskedToEnd(signal: Int32) async throws {
        try await save(["a"])
        let server = try await Server(["--data", data])
        let start = try await token()
        let follower = try RunningProcess(["changes", "--follow", "--data", data] + Self.zone)
        #expect(await follower.nextLine()?.contains(/^created +[0-9]+ +T +a$/) == true)
        for name in ["b", "c"] {
            try await save([name])
            #expect(await follower.nextLine()?.contains("  T  \(name)") == true)
        }
        follower.signal(signal)
        #expect(await follower.rest() == ["Token: \(try await token())"])
        #expect(await follower.end().status == 0)
        // With an earlier token, the changes since then come first, with their kinds.
        let second = try RunningProcess(
            ["changes", "--follow", "--json", "--since", start, "--data", data] + Self.zone)
        #expect(await second.nextLine()?.contains("\"change\":\"created\"") == true)
        #expect(await second.nextLine()?.contains("\"recordName\":\"c\"") == true)
        #expect(await second.nextLine() == "{\"syncToken\":\"\(try await token())\"}")
        try await save(["a"])
        #expect(await second.nextLine()?.contains("\"change\":\"modified\"") == true)
        let after = try await token()
        #expect(await second.nextLine() == "{\"syncToken\":\"\(after)\"}")
        // If the server ends, the command reports it, and how to continue.
        #expect(await server.end() == 0)
        #expect(await second.rest() == ["{\"syncToken\":\"\(after)\"}"])
        let end = await second.end()
        #expect(end.status == 69)
        #expect(end.errors.contains("--since \(after)"), "\(end.errors)")
    }

    @Test func followWaitsForAServerThatIsBusy() async throws {
        try await save(["a"])
        let server = try await Server(["--data", data])
        let start = try await token()
        #expect(try await run(["rehearse", "start", "zone-busy", "--count", "1"]).status == 0)
        let follower = try RunningProcess(["changes", "--follow", "--since", start, "--data", data] + Self.zone)
        // The first attempt is refused, and repeated after the time that the server gave.
        try await eventually { try await !run(["rehearse", "list"]).output.contains("on: zone-busy") }
        try await save(["b"])
        #expect(await follower.nextLine()?.contains("  T  b") == true)
        follower.signal(SIGINT)
        #expect(await follower.rest().last?.hasPrefix("Token: ") == true)
        #expect(await follower.end().status == 0)
        #expect(await server.end() == 0)
    }

    @Test func followOfADatabase() async throws {
        try await save(["a"])
        let server = try await Server(["--data", data])
        let follower = try RunningProcess(
            ["changes", "--follow", "--since", try await token(Self.container), "--data", data] + Self.container)
        try await save(["b"])
        #expect(await follower.nextLine()?.contains(/^changed +Z/) == true)
        follower.signal(SIGINT)
        #expect(await follower.rest().last?.hasPrefix("Token: ") == true)
        #expect(await follower.end().status == 0)
        #expect(await server.end() == 0)
    }

    // MARK: Tokens

    @Test(arguments: [false, true]) func tokensAreExplainedAndExpire(throughServer: Bool) async throws {
        try await save(["a", "b"])
        let old = try await token()
        try await save(["c"])
        let server = throughServer ? try await Server(["--data", data]) : nil
        let good = try await run(["token", "explain", old] + Self.container)
        #expect(good.status == 0, "\(good.errors)")
        #expect(good.output.contains("A token of zone Z in the private database of developer."))
        #expect(good.output.contains(/Position: [0-9]+, committed 20[0-9-]+T/))
        #expect(good.output.contains("Status: valid") && good.output.contains("Changes after it: 1"))
        let json = try await run(["token", "explain", old, "--json"] + Self.container).outputJSON
        #expect(json["standing"] == "good" && json["changesAfter"] == 1 && json["subject"] == "zone")
        let foreign = try await run(["token", "explain", old, "--user", "ada"] + Self.container)
        #expect(foreign.output.contains("Status: not for this database"))
        let damaged = try await run(["token", "explain", "nonsense", "--json"] + Self.container)
        #expect(damaged.status == 1)
        #expect(try damaged.errorJSON["code"] == "BAD_REQUEST")
        #expect(
            try await run(["token", "explain", "Optional(\"\(old)\")"] + Self.container).output.contains(
                "Status: valid"))
        #expect(
            try await run(["token", "explain", String(old.prefix(30))] + Self.container).errors.contains(
                "cut short: 22 of 36 bytes"))
        let secret = String(repeating: "0a1b", count: 16)
        let credential = try await run(["token", "explain", secret] + Self.container)
        #expect(
            credential.status == 1 && credential.errors.contains("64 hexadecimal digits")
                && !credential.errors.contains(secret))

        let unconfirmed = try await run(["token", "expire", "--json"] + Self.container)
        #expect(unconfirmed.status == 64)
        #expect(try unconfirmed.errorJSON["code"] == "CONFIRMATION_NEEDED")
        #expect(try await run(["token", "explain", old] + Self.container).output.contains("Status: valid"))
        #expect(try await run(["token", "expire", "--yes"] + Self.container).status == 0)
        #expect(try await run(["token", "explain", old] + Self.container).output.contains("Status: expired"))
        let refused = try await run(["changes", "--since", old] + Self.zone)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("client knowledge differs from server knowledge"))
        #expect(try await run(["changes", "--since", token()] + Self.zone).status == 0)
        if let server { #expect(await server.end() == 0) }
    }
}
