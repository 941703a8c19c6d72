import ArgumentParser
import JSON
import Records
import RecordStore

/// The options and the common work of the commands that remove a zone.
struct ZoneRemovalOptions: ParsableArguments {
    @Argument(help: "The zone's name.")
    var zone: String

    @Flag(help: "Confirm it. Without this flag the command only says what would be deleted.")
    var yes = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    var zoneID: ZoneID { ZoneID(zoneName: Name(zone)) }

    /// Prints the content of the zone and, with `--yes`, removes it.
    func run(participle: String, removal: (any RecordDatabase) async throws -> Void) async throws {
        let count = try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            for zone in try await target.fetchZones([zoneID]) { _ = try zone.get() }
            let count = target.can(.countRecords) ? try await target.counts(in: zoneID).total : nil
            guard yes else {
                let records = count.map { "has \(Output.grouped($0)) records, which" } ?? "and its records"
                throw CommandFailure(
                    .usage, "Zone \(zone) of \(database.user) \(records) would be permanently deleted",
                    code: "CONFIRMATION_NEEDED", remedy: "Add --yes to confirm")
            }
            try await removal(target)
            return count
        }
        if store.json {
            Output.say { writer in
                writer.member("zoneName", zone)
                if let count { writer.member("records", Int64(count)) }
            }
        } else {
            Output.say("Zone \(zone) of \(database.user) was \(participle)\(count.map { ", with \(Output.grouped($0)) records" } ?? "").")
        }
    }
}
