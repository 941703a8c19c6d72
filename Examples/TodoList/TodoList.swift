import ExampleSupport
import Foundation
import RemoteRecords

/// A to-do list that is the same on all devices of a user. Each device has a file of its own, which takes changes
/// without a network too.
@main struct TodoList {
    static let zone = ZoneID(zoneName: "TodoList")

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let client = try Connection.client()
        guard arguments.count >= 2 else { Connection.explain("todo-list FILE add TEXT | done TEXT | list | follow") }
        let list = try await RecordCache(URL(filePath: arguments[0]), of: Container(client).privateCloudDatabase)
        switch (arguments[1], arguments.dropFirst(2).first) {
        case ("add", let title?):
            var item = Record(recordType: "Item", in: zone)
            item["title"] = title
            item["isDone"] = false
            try await list.change(.saveZone(zone))
            try await list.save(item)
            await sync(list)
        case ("done", let title?):
            for var item in try await list.records(ofType: "Item", in: zone) where item["title"] == title {
                item["isDone"] = true
                try await list.save(item)
            }
            await sync(list)
        case ("list", nil):
            await sync(list)
            print(text(of: try await list.records(ofType: "Item", in: zone)))
        case ("follow", nil):
            let showing = Task {
                for try await items in list.updates(ofType: "Item", in: zone) {
                    // `print` may keep it back.
                    FileHandle.standardOutput.write(Data("\(text(of: items))\n".utf8))
                }
            }
            defer { showing.cancel() }
            try await list.run(every: .seconds(30), listening: true)
        default: Connection.explain("todo-list FILE add TEXT | done TEXT | list | follow")
        }
        await client.close()
    }

    /// Changes that can't be sent now are sent by the next command.
    static func sync(_ list: RecordCache) async {
        do { try await list.sync() } catch { FileHandle.standardError.write(Data("Not synced: \(error)\n".utf8)) }
    }

    static func text(of items: [Record]) -> String {
        items.map { "\($0["isDone"] == true ? "[x]" : "[ ]") \($0["title"] ?? "")" }.sorted().joined(separator: "\n")
    }
}
