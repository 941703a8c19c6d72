import Accounts
import ArgumentParser
import RecordStore
import Records

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check every record for problems such as references without a target and records near 1 MB.",
        discussion: """
            Reports missing references and parents, references into other zones, records near the size limit, encrypted \
            fields in the public database, Core Data types (CD_…) whose CD_entityName does not match, assets without a file, records beside shared hierarchies, shares without \
            guests and invitations to unknown addresses. Changes nothing. Exits with code 1 if it finds a problem.

            Examples:
              skylight check --container iCloud.com.example.Shopping
              skylight check --container iCloud.com.example.Shopping --user ada --zone Lists --json
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database to check.")
    var scope: DatabaseScope = .private

    @Option(help: ArgumentHelp("Only this zone. (default: all)", valueName: "name"))
    var zone: String?

    @Option(
        help: ArgumentHelp(
            "The owner of --zone in a shared database: a handle or a user record name.", valueName: "handle"))
    var owner: String?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if owner != nil, zone == nil { throw ValidationError("--owner is the owner of --zone: use both or neither.") }
    }

    func run() async throws {
        let progress = try await store.withStore(isNew: false) { store in try await check(store) }
        say(progress)
        if progress.findings > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func check(_ store: any CommandData) async throws -> RecordCheck.Progress {
        let address = database.address(scope)
        let target = try await store.existingDatabase(address, as: database.user)
        let ownerName = try await store.zoneOwner(owner)
        let zoneID = zone.map { ZoneID(zoneName: Name($0), ownerRecordName: ownerName) }
        let assets = store.assets(address.container, address.environment)
        let addresses = try await store.accounts.seenUsers().map {
            LookupInfo(emailAddress: $0.user.emailAddress, userRecordName: $0.user.userRecordName)
        }
        let bar = ProgressBar()
        defer { bar.finish() }
        let check = RecordCheck(
            target, zoneID: zoneID, isStored: { try await assets.holds($0) },
            isKnown: { invited in addresses.contains { $0.matches(invited) } })
        return try await check.run { progress in
            bar.show("Checking", count: progress.records, of: progress.total, "records")
        } found: { finding in
            bar.finish()
            say(finding)
        }
    }

    // MARK: Output

    /// Prints each finding immediately, so that none are kept in memory.
    private func say(_ finding: RecordFinding) {
        let field = finding.fieldName.map { " · \($0)" } ?? ""
        store.output.say(
            lines: [
                "\(finding.kind.rawValue)  \(finding.recordType) '\(finding.recordID.recordName)' in zone \(finding.recordID.zoneID.zoneName)\(field)",
                "    \(finding.explanation).",
            ]
        ) { writer in
            writer.member("finding", finding.kind.rawValue)
            writer.member("recordName", finding.recordID.recordName)
            writer.member("recordType", finding.recordType)
            writer.member("zoneID") { $0.value(finding.recordID.zoneID) }
            if let field = finding.fieldName { writer.member("fieldName", field) }
            if let target = finding.target {
                writer.name("target")
                writer.object { writer in
                    writer.member("recordName", target.recordName)
                    writer.member("zoneID") { $0.value(target.zoneID) }
                }
            }
            writer.member("explanation", finding.explanation)
        }
    }

    private func say(_ progress: RecordCheck.Progress) {
        let records = "\(Output.grouped(progress.records)) record\(progress.records == 1 ? "" : "s")"
        let looked = "\(records) in \(Output.grouped(progress.zones)) zone\(progress.zones == 1 ? "" : "s")"
        let found = progress.findings == 0 ? "nothing found" : "\(Output.grouped(progress.findings)) found"
        store.output.say("\(looked) of the \(scope.rawValue) database: \(found).") { writer in
            writer.member("check", "finished")
            writer.member("zones", Int64(progress.zones))
            writer.member("records", Int64(progress.records))
            writer.member("findings", Int64(progress.findings))
        }
    }
}
