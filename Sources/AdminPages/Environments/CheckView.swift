internal import AssetStore
package import Console
internal import RecordStore
internal import Records

/// The page Check: problems in the records of a database that cause no errors.
package enum CheckView {
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let place = visit.place
        let health = visit.engine.can(.reportHealth) ? try await visit.engine.require(.reportHealth).health() : []
        let database = health.first {
            $0.container == place.address.container && $0.environment == place.address.environment
        }?.database.map { " Its records are in \($0)." }
        // The check may end meanwhile, so its state is read once; the outcome before the findings, so that a check that
        // has ended has all of them.
        let run = visit.console.runs.check(of: place)
        let state = run?.now
        let found = run?.check?.now
        let scope =
            place.zoneID.map { "zone \(visit.zoneName($0))" }
            ?? "all zones of the \(place.address.scope.rawValue) database"
        let start = Form(
            .line, place.link("check/start"), [], button: state == nil ? "Check now" : "Check again",
            buttonStyle: "go")
        var parts: [any Component] = [rules(place)]
        if let state, let found {
            let records = found.findings.values.flatMap { $0.first.map(\.recordID) }
            parts = [progress(state, found, try await ReferencedTitles(records, known: [], visit), visit)]
        }
        return ComponentPage(
            .check,
            PageHead(
                Tab.check.title,
                [
                    "Checks every record of \(scope) for problems that saves accept and apps run into later. It changes nothing.\(database ?? "")"
                ], forms: state != nil && state?.outcome == nil ? [] : [start]), parts)
    }

    /// The kinds of problems that a check finds. The page shows them before the first check.
    private static func rules(_ place: Place) -> Section {
        Section(
            "rules", "Problems that it finds",
            [
                Facts(
                    style: "wide rules",
                    RecordFinding.Kind.allCases.map { Facts.Fact(Inline($0.title), Inline($0.meaning)) }),
                Paragraph.faint(
                    "In a script, \(.code(command(place))) exits with status 1 if it finds a problem."),
            ])
    }

    private static func progress(
        _ state: BackgroundRun.State, _ found: CheckFindings.State, _ titles: ReferencedTitles, _ visit: Visit
    ) -> JobProgress {
        let progress = found.progress
        let count = progress.findings
        let total = max(progress.total ?? 0, progress.records, 1)
        var notes: [any Component] = []
        if case .failed(let reason)? = state.outcome { notes.append(Note(bad: "It stopped: \(reason)")) }
        if state.outcome == .done, count == 0 {
            notes.append(
                Note(
                    good: "No problems found.",
                    "Every reference and parent exists, no record is near the size limit, every file is stored, and guests can see what is meant for them."
                ))
        }
        if state.outcome == nil {
            notes.append(Form(.line, visit.place.link("check/cancel"), [], button: "Cancel"))
        }
        let isClean = state.outcome == .done && count == 0
        return JobProgress(
            "check", outcome(state, count), announcement: "The check is over", reloads: true,
            phase: state.ended.map { .time($0) },
            bar: state.outcome != nil
                ? nil
                : JobProgress.Bar(
                    "Records checked", done: progress.records, of: total,
                    percent: progress.total.map { _ in progress.records * 100 / total }),
            [
                JobProgress.Figure("records", Digits.grouped(progress.records)),
                JobProgress.Figure("zones", Digits.grouped(progress.zones)),
                JobProgress.Figure("found", Digits.grouped(count), tone: isClean ? nil : "warn"),
            ],
            notes
                + RecordFinding.Kind.allCases.compactMap { kind in
                    found.findings[kind].map { section(kind, $0, titles, visit) }
                })
    }

    private static func outcome(_ state: BackgroundRun.State, _ count: Int) -> JobProgress.Outcome {
        switch state.outcome {
        case nil: .running()
        case .done: count == 0 ? .good("done, nothing found") : .warn("done")
        case .cancelled: .warn("cancelled")
        case .failed: .bad()
        }
    }

    private static func section(
        _ kind: RecordFinding.Kind, _ findings: CheckFindings.Findings, _ titles: ReferencedTitles, _ visit: Visit
    ) -> Section {
        let left = findings.count - findings.first.count
        return Section(
            kind.rawValue, "\(kind.title) \(.faint(Inline(Digits.grouped(findings.count))))", style: "findings",
            [
                Paragraph.faint(Inline(kind.meaning)),
                Table(
                    kind.title,
                    [
                        .column("record", "name"), "type", "zone", "field", "points to",
                        .column("what it means", "wide"),
                    ], findings.first.map { row($0, titles, visit) },
                    more: left > 0
                        ? "… and \(Digits.grouped(left)) more. The command line names all of them." : nil),
            ])
    }

    private static func row(_ finding: RecordFinding, _ titles: ReferencedTitles, _ visit: Visit) -> Table.Row {
        let recordID = finding.recordID
        func link(_ recordID: RecordID) -> String {
            visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID)
        }
        let record = RecordLink(
            href: link(recordID), recordName: recordID.recordName.string, title: titles[recordID])
        return Table.Row([
            record.inline, Inline(finding.recordType.string), Inline(visit.zoneName(recordID.zoneID)),
            finding.fieldName.map { .code($0.string) } ?? .missing,
            finding.target.map { .link($0.recordName.string, link($0), style: "mono") } ?? .missing,
            Inline(finding.explanation),
        ])
    }

    /// The shell command for the same check.
    private static func command(_ place: Place) -> String {
        let address = place.address
        var words = ["skylight", "check", "--container", "\(address.container)"]
        if address.environment != .development { words += ["--environment", address.environment.rawValue] }
        if address.scope != .private { words += ["--database", address.scope.rawValue] }
        if let user = place.user { words += ["--user", user] }
        if let zoneID = place.zoneID { words += ["--zone", zoneID.zoneName.string] }
        if address.scope == .shared, let owner = place.zoneID?.ownerRecordName { words += ["--owner", owner.string] }
        return words.map(\.shellWord).joined(separator: " ")
    }
}

extension RecordFinding.Kind {
    fileprivate var title: String {
        switch self {
        case .danglingReference: "References without a target"
        case .danglingParent: "Missing parents"
        case .referenceAcrossZones: "References into other zones"
        case .encryptedInPublic: "Encrypted fields in the public database"
        case .nearSizeLimit: "Records near 1 MB"
        case .entityName: "Core Data entities that don't match"
        case .missingAsset: "Assets without a file"
        case .besideHierarchies: "Records that are not shared, unlike others of their type"
        case .parentCircle: "Parents in a circle"
        case .nestedShare: "Shares within another share"
        case .unacceptedShare: "Shares that nobody accepted"
        case .unknownAddress: "Invitations to unknown addresses"
        }
    }

    fileprivate var meaning: String {
        switch self {
        case .danglingReference: "The target of the reference is not in its zone. It was deleted or never saved."
        case .danglingParent:
            "The record's parent does not exist, so a share of the parent does not include the record."
        case .referenceAcrossZones:
            "Deletions, shares and the sync of a zone do not follow references into other zones."
        case .encryptedInPublic: "CloudKit refuses them there. Clear the field, or save the value elsewhere."
        case .nearSizeLimit: "The fields take more than 90 % of the size limit. The next save may be refused."
        case .entityName:
            "The type begins with CD_, but CD_entityName does not match. Core Data silently skips such records."
        case .missingAsset: "The file is not stored, so its download fails."
        case .besideHierarchies:
            "The record has no parent, so guests do not see it, and others of its type are shared. Often the app forgot the parent."
        case .parentCircle:
            "Following the parents leads back to the record. Save one record of the circle with another parent, or without one."
        case .nestedShare:
            "Guests of the outer share see nothing of the inner one. CloudKit refuses such shares. Stop one of the two, or clear the parent."
        case .unacceptedShare: "The share is at least a day old and has no guests."
        case .unknownAddress: "No user of this server has the address, so nobody can accept the invitation."
        }
    }
}

// MARK: - Actions

/// Starts and cancels checks.
package enum CheckActions {
    package static func start(_ visit: Visit) async throws -> String {
        try visit.database.require(.listRecords)
        let address = visit.place.address
        let store = try await visit.assets.existingStore(address.container, address.environment)
        var isStored: RecordCheck.FileLookup?
        if let ledger = store?.ledger { isStored = { checksum in try await ledger.entry(of: checksum) != nil } }
        let people = visit.people
        let check = RecordCheck(
            visit.database, zoneID: visit.place.zoneID, isStored: isStored,
            isKnown: { people.user(invitedBy: $0) != nil })
        let (place, findings) = (visit.place.inAllZonesUnlessNamed, CheckFindings())
        let back = Frame.Link(text: "Check", href: place.link(Tab.check.rawValue))
        let run = BackgroundRun(heading: "Check", verb: "checked", total: 0, place: place, back: back, check: findings)
        try visit.console.runs.start(run, priority: .utility) { _ in
            _ = try await check.run { progress in
                findings.note(progress)
                // Lets other tasks run first.
                await Task.yield()
            } found: { finding in
                findings.add(finding)
            }
        }
        return visit.place.link(Tab.check.rawValue)
    }

    package static func cancel(_ visit: Visit) -> String {
        visit.console.runs.check(of: visit.place)?.cancel()
        return visit.place.link(Tab.check.rawValue)
    }
}
