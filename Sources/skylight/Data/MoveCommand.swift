import ArgumentParser
import Foundation
import RecordStore
import Records
import SQLRecordStore

struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Copy all containers from files to a database of PostgreSQL, or back.",
        discussion: """
            A place is a data folder, or an address such as postgres://user@host/database. No server may have either open. Records, schemas, shares, \
            subscriptions and key-value stores are copied with their positions, so the change tokens of clients stay good. Nothing is deleted: remove \
            the old containers when you have seen the new ones.

            Files of assets and the accounts stay in the data folder. Serve it with the database: skylight serve --data FOLDER --store ADDRESS.

            Each container's environment is copied as a whole or not at all. One that is in the other place already is an error, and nothing is copied.

            Examples:
              skylight move --from ./data --to postgres://skylight@localhost/skylight
              skylight serve --data ./data --store postgres://skylight@localhost/skylight
            """)

    @Option(help: ArgumentHelp("The place that has the containers.", valueName: "place"))
    var from: String

    @Option(help: ArgumentHelp("The place that gets them.", valueName: "place"))
    var to: String

    @Flag(help: "Print results as JSON on standard output, and errors as one JSON object on standard error.")
    var json = false

    func validate() throws {
        // libpq would also take key=value pairs, which are no place here, but may have a password.
        for (place, option) in [(from, "--from"), (to, "--to")] { try StoreAddress.checkSecrecy(of: place, in: option) }
        if from == to { throw ValidationError("--from and --to are the same place.") }
    }

    func run() async throws {
        let source = try engine(at: from, mustExist: true)
        do {
            let target = try engine(at: to, mustExist: false)
            do {
                try await copy(source, target)
            } catch {
                await target.close()
                throw error
            }
            await target.close()
        } catch {
            await source.close()
            throw error
        }
        await source.close()
    }

    private func engine(at place: String, mustExist: Bool) throws -> SQLRecordEngine {
        do {
            if StoreAddress.isOne(place) { return try SQLRecordEngine(postgreSQL: place, isAlone: true) }
            if mustExist, !FileManager.default.fileExists(atPath: place) {
                throw CommandFailure(
                    .noInput, "There is no folder '\(place)'",
                    remedy: "Name the data folder that has the containers with --from")
            }
            return try SQLRecordEngine(folder: URL(filePath: place, directoryHint: .isDirectory))
        } catch let error as DatabaseUnavailable {
            throw CommandFailure(
                .unavailable, error.description, code: "STORE_NOT_AVAILABLE",
                remedy: "Check the address, and that PostgreSQL answers")
        }
    }

    private func copy(_ source: SQLRecordEngine, _ target: SQLRecordEngine) async throws {
        let bar = ProgressBar()
        defer { bar.finish() }
        let copied = try await source.copyAll(to: target) { container, _, count in
            bar.show("Copying \(container)", fraction: nil, count: count, "rows")
        }
        bar.finish()
        var lines = copied.map {
            "\($0.container) (\($0.environment.rawValue)): \(Output.grouped($0.rows)) rows copied."
        }
        let refused = copied.reduce(0) { $0 + $1.encryptedInPublic }
        if let sentence = RecordFinding.encryptedInPublic(refused) { lines.append(sentence) }
        if copied.isEmpty {
            lines = [
                "There is no container in \(StoreAddress.isOne(from) ? "the database" : from); nothing was copied."
            ]
        }
        Output(isJSON: json).say(lines: lines) { writer in
            writer.member("copied", objects: copied) { writer, store in
                writer.member("container", store.container.description)
                writer.member("environment", store.environment.rawValue)
                writer.member("rows", Int64(store.rows))
                writer.member("encryptedInPublic", Int64(store.encryptedInPublic))
            }
        }
    }
}
