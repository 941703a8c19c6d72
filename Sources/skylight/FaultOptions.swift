import ArgumentParser
import JSON
import Records
import RecordStore
import RemoteRecordStore

/// The scope options of a fault injection.
struct FaultAreaOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only in this container. (default: all)", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only in this environment. (default: both)")
    var environment: Environment?

    @Option(help: "Only in this database. (default: all)")
    var database: DatabaseScope?

    @Option(help: ArgumentHelp("Only in zones with this name. (default: all)", valueName: "name"))
    var zone: String?

    var area: FaultArea {
        FaultArea(container: container, environment: environment, scope: database, zoneID: zone.map { ZoneID(zoneName: Name($0)) })
    }
}

/// The options for the server that injects faults, which must be running.
struct FaultServerOptions: ParsableArguments {
    @OptionGroup var store: StoreOptions

    var json: Bool { store.json }

    /// Runs work with the server of `--url`, or else of the data folder.
    /// - Throws: `CommandFailure` if no server is running; errors of the work.
    func withServer<Value>(_ work: (RemoteRecordEngine) async throws -> Value) async throws -> Value {
        guard let engine = try await store.runningServer() else {
            throw CommandFailure(
                .unavailable, "There is no running server for rehearsals", code: "SERVER_NOT_AVAILABLE",
                remedy: "Start one with skylight serve, or give one with --url")
        }
        do {
            let value = try await work(engine)
            await engine.close()
            return value
        } catch {
            await engine.close()
            throw error
        }
    }

    /// Prints the active faults as text or JSON.
    func say(_ running: [ActiveFault]) {
        guard !json else {
            return Output.say { writer in
                writer.name("on")
                writer.array { writer in
                    for running in running { writer.value(running) }
                }
            }
        }
        if running.isEmpty { return Output.say("No rehearsal is active.") }
        for running in running {
            let count = running.remaining.map { $0 == 1 ? ", once more" : ", \(Output.grouped($0)) more times" } ?? ""
            let place = running.area == .everywhere ? running.area.description : "in \(running.area)"
            let items = running.items.map { " (\($0))" } ?? ""
            Output.say("on: \(running.fault.rawValue)\(items) \(place)\(count)")
        }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ running: ActiveFault) {
        object { writer in
            writer.member("rehearsal", running.fault.rawValue)
            if let remaining = running.remaining { writer.member("count", Int64(remaining)) }
            if let items = running.items {
                writer.member("every", Int64(items.every))
                writer.member("code", items.code.rawValue)
            }
            if let container = running.area.container { writer.member("container", container.description) }
            if let environment = running.area.environment { writer.member("environment", environment.rawValue) }
            if let scope = running.area.scope { writer.member("database", scope.rawValue) }
            if let zoneID = running.area.zoneID { writer.member("zone", zoneID.zoneName) }
            if let user = running.area.user { writer.member("user", user) }
            writer.member("since", running.since.milliseconds)
        }
    }
}
