import Foundation
import Records
import TestSupport
import Testing

/// `skylight subscriptions` and `skylight notifications`, on a folder and through its server.
@Suite(.serialized) struct SubscriptionTests {
    private let folder: TemporaryFolder
    private static let container = ["--container", "iCloud.com.example.X"]

    init() throws { folder = try TemporaryFolder() }

    private var data: String { folder.url.appending(path: "data").path(percentEncoded: false) }

    private func run(_ arguments: [String]) async throws -> Command.Result {
        try await Command.run(arguments + Self.container + ["--data", data])
    }

    private func save(_ names: [String]) async throws {
        let file = try folder.write("k\n" + names.map { $0 + "\n" }.joined(), to: "rows.csv").path(
            percentEncoded: false)
        let result = try await run(["import", file, "--type", "T", "--name-field", "k", "--zone", "Z"])
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test func aSubscriptionIsMadeListedAndDeleted() async throws {
        try await save(["a"])
        #expect(try await run(["subscriptions", "list"]).output.contains("no subscriptions"))
        #expect(
            try await run([
                "subscriptions", "create", "new", "--type", "T", "--on", "create", "--on", "delete", "--alert", "New",
            ]).status == 0)
        #expect(try await run(["subscriptions", "create", "zone", "--zone", "Z"]).status == 0)
        let file = try folder.write(
            #"{"subscriptionID":"other","subscriptionType":"database","recordType":"T","notificationInfo":{"soundName":"default"}}"#,
            to: "s.json")
        let saved = try await run([
            "subscriptions", "create", "file", "--from", file.path(percentEncoded: false), "--json",
        ])
        #expect(
            saved.output.contains(#""subscriptionID":"file""#) && saved.output.contains(#""soundName":"default""#),
            "\(saved.errors)")
        let listed = try await run(["subscriptions", "list"]).output.split(separator: "\n")
        #expect(listed.count == 4)
        #expect(listed.contains { $0.contains(/^file +database +all +T +every change +silent/) })
        #expect(listed.contains { $0.contains(/^new +query +all +T +create, delete +New/) })
        #expect(listed.contains { $0.contains(/^zone +zone +Z +all +every change +silent/) })
        #expect(try await run(["subscriptions", "delete", "new"]).status == 0)
        let gone = try await run(["subscriptions", "delete", "new"])
        #expect(gone.status == 1 && gone.errors.contains("Subscription not found"))
        #expect(try await run(["subscriptions", "list", "--user", "ada"]).output.contains("no subscriptions"))
    }

    @Test(arguments: [
        (["create", "x", "--on", "create"], Int32(64), "add --type"),
        (["create", "x", "--once"], 64, "add --type and --on"),
        (["create", "x", "--from", "f", "--zone", "Z"], 64, "remove the other options"),
        (["create", "x", "--from", "/none"], 66, "can't be read"),
        (["create", "x", "--zone", "None"], 1, "Zone does not exist"),
        (["create", "x", "--database", "public"], 1, "exist in private and shared databases"),
    ])
    func whatIsNoSubscription(arguments: [String], status: Int32, message: String) async throws {
        try await save(["a"])
        let result = try await run(["subscriptions"] + arguments)
        #expect(result.status == status && result.errors.contains(message), "\(result.errors)")
    }

    @Test func notificationsAreFollowedUntilCtrlC() async throws {
        try await save(["a"])
        #expect(try await run(["notifications"]).status == 64)
        #expect(try await run(["notifications", "--follow"]).errors.contains("no running server"))
        #expect(
            try await run(["subscriptions", "create", "q", "--type", "T", "--on", "create", "--on", "update"]).status
                == 0)
        let server = try await Server(["--data", data])
        try await save(["b"])
        let follower = try RunningProcess(
            ["notifications", "--follow", "--since", "0", "--data", data] + Self.container)
        #expect(await follower.nextLine() == "q  private  Z  create b")
        try await save(["a"])
        #expect(await follower.nextLine() == "q  private  Z  update a")
        follower.signal(SIGINT)
        let rest = await follower.rest()
        #expect(await follower.end().status == 0)
        let number = try #require(rest.first?.split(separator: " ").last)
        #expect(rest.count == 1 && Int64(number) != nil)
        // Later ones come first. With --json each is what a device gets.
        try await save(["c"])
        let second = try RunningProcess(
            ["notifications", "--follow", "--json", "--since", String(number), "--data", data] + Self.container)
        let line = try #require(await second.nextLine())
        guard case .object(let payload) = try JSONReader.value(of: line), case .object(let ck)? = payload["ck"],
            case .object(let told)? = ck["qry"]
        else {
            Issue.record("not a notification: \(line)")
            return
        }
        #expect(told["rid"] == "c" && told["sid"] == "q" && payload["aps"] != nil)
        #expect(await server.end() == 0)
        _ = await second.end()
    }
}
