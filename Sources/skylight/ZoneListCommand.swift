import ArgumentParser
import JSON
import Records
import RecordStore

struct ZoneListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the zones of a database, with counts of records and deletions, and participants.",
        discussion: """
            Example:
              skylight zone list --container iCloud.com.example.Shopping --user ada
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    private struct Row {
        let zone: Zone
        let owner: String?
        let counts: ZoneCounts?
        let participants: [(handle: String, permission: ZoneParticipant.Permission)]
    }

    func run() async throws {
        let rows = try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            let handles = try await store.handles()
            func handle(_ name: Name) -> String { handles[name] ?? name.string }
            var rows: [Row] = []
            for zone in try await target.zones() {
                var participants: [ZoneParticipant] = []
                if scope == .private, !zone.zoneID.isDefault, target.can(.shareRecords) { participants = try await target.participants(of: zone.zoneID) }
                rows.append(
                    Row(
                        zone: zone, owner: zone.zoneID.ownerRecordName.map(handle),
                        counts: target.can(.countRecords) ? try await target.counts(in: zone.zoneID) : nil,
                        participants: participants.map { (handle($0.userRecordName), $0.permission) }))
            }
            return rows
        }
        store.json ? sayJSON(rows) : say(rows)
    }

    private func say(_ rows: [Row]) {
        if rows.isEmpty { return Output.say("The \(scope.rawValue) database of \(database.user) has no zones.") }
        var table = [["ZONE", "OWNER", "RECORDS", "DELETIONS", "SHARED WITH"]]
        for row in rows {
            let shown = row.participants.map { "\($0.handle) (\($0.permission == .readOnly ? "read-only" : "read-write"))" }
            table.append([
                row.zone.zoneID.zoneName.string, row.owner ?? "–", row.counts.map { Output.grouped($0.total) } ?? "–",
                row.counts.map { Output.grouped($0.deletions) } ?? "–", shown.isEmpty ? "–" : shown.joined(separator: ", "),
            ])
        }
        Output.say(table: table)
    }

    private func sayJSON(_ rows: [Row]) {
        Output.say { writer in
            writer.name("zones")
            writer.array { writer in
                for row in rows {
                    writer.object { writer in
                        writer.name("zoneID")
                        writer.value(row.zone.zoneID)
                        if let owner = row.owner { writer.member("owner", owner) }
                        if let token = row.zone.syncToken { writer.member("syncToken", token.text) }
                        writer.member("atomic", row.zone.atomic)
                        if let counts = row.counts {
                            writer.name("records")
                            writer.object { writer in
                                for (name, count) in counts.records.sorted(by: { $0.key < $1.key }) { writer.member(name, Int64(count)) }
                            }
                            writer.member("deletions", Int64(counts.deletions))
                        }
                        writer.name("participants")
                        writer.array { writer in
                            for participant in row.participants {
                                writer.object { writer in
                                    writer.member("user", participant.handle)
                                    writer.member("permission", participant.permission.rawValue)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
