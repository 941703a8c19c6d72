internal import AssetStore
package import Console
internal import RecordStore
internal import Records

/// The page Check: problems in the records of a database that cause no errors.
package struct CheckView: Page {
    package static let template = "check"
    package static let tab = Tab.check

    struct Row: ViewModel {
        let record: RecordLink
        let type: String
        let zone: String
        let field: String?
        /// The target of the field.
        let target: Frame.Link?
        let explanation: String
    }

    struct Group: ViewModel {
        let id: String
        let title: String
        let meaning: String
        let count: String
        let rows: [Row]
        let more: String?
    }

    struct Rule: ViewModel {
        let title: String
        let meaning: String
    }

    /// The progress of a check, or its final state.
    struct Report: ViewModel {
        let isLive: Bool
        let state: String
        let tone: String
        let value: String
        let maximum: String
        let percent: String?
        let records: String
        let zones: String
        let found: String
        /// True if the check is complete and found nothing.
        let isClean: Bool
        let failure: String?
        let ended: ValueView?
        let groups: [Group]
    }

    package let title = Self.tab.title
    /// The scope of the check: a zone, or the whole database.
    let scope: String
    let rules: [Rule]
    let report: Report?
    /// True if a check is running.
    let isLive: Bool
    let start: String
    let cancel: String
    let command: String
    /// The database server that has the records, and how durable its commits are; `nil` for a file.
    let database: String?

    package static func load(_ visit: Visit) async throws -> CheckView {
        let run = visit.console.runs.check(of: visit.place)
        let place = visit.place
        let health = visit.engine.can(.reportHealth) ? try await visit.engine.require(.reportHealth).health() : []
        // The run may end meanwhile, so its state is read once.
        let report = try await Report.load(run, visit)
        let own = health.first {
            $0.container == place.address.container && $0.environment == place.address.environment
        }
        return CheckView(
            scope: place.zoneID.map { "zone \(visit.zoneName($0))" }
                ?? "all zones of the \(place.address.scope.rawValue) database",
            rules: RecordFinding.Kind.allCases.map { Rule(title: $0.title, meaning: $0.meaning) }, report: report,
            isLive: report?.isLive ?? false, start: place.link("check/start"), cancel: place.link("check/cancel"),
            command: Self.command(place), database: own?.database)
    }
}

extension CheckView {
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

extension CheckView.Report {
    /// - Returns: `nil` if there is no check.
    fileprivate static func load(_ run: BackgroundRun?, _ visit: Visit) async throws -> CheckView.Report? {
        guard let run, let check = run.check else { return nil }
        // Reads the outcome before the findings, so that a finished run includes all its findings.
        let state = run.now
        let found = check.now
        let records = found.findings.values.flatMap { $0.first.map(\.recordID) }
        return CheckView.Report(state, found, try await ReferencedTitles(records, known: [], visit), visit)
    }

    private init(_ run: BackgroundRun.State, _ found: CheckFindings.State, _ titles: ReferencedTitles, _ visit: Visit) {
        let progress = found.progress
        let isOver = run.outcome == .done
        isLive = run.outcome == nil
        let count = progress.findings
        (state, tone) =
            switch run.outcome {
            case nil: ("running", "modified")
            case .done: count == 0 ? ("done, nothing found", "good") : ("done", "warn")
            case .cancelled: ("cancelled", "warn")
            case .failed: ("failed", "bad")
            }
        let total = max(progress.total ?? 0, progress.records, 1)
        value = String(isOver ? total : progress.records)
        maximum = String(total)
        percent = isOver ? "100" : progress.total.map { _ in String(progress.records * 100 / total) }
        records = Digits.grouped(progress.records)
        zones = Digits.grouped(progress.zones)
        self.found = Digits.grouped(count)
        isClean = isOver && count == 0
        failure = if case .failed(let reason)? = run.outcome { reason } else { nil }
        ended = run.ended.map { ValueView(.time($0)) }
        groups = RecordFinding.Kind.allCases.compactMap { kind in
            found.findings[kind].map { CheckView.Group(kind, $0, titles, visit) }
        }
    }
}

extension CheckView.Group {
    fileprivate init(
        _ kind: RecordFinding.Kind, _ findings: CheckFindings.Findings, _ titles: ReferencedTitles, _ visit: Visit
    ) {
        id = kind.rawValue
        title = kind.title
        meaning = kind.meaning
        count = Digits.grouped(findings.count)
        rows = findings.first.map { CheckView.Row($0, titles, visit) }
        let left = findings.count - findings.first.count
        more = left > 0 ? "… and \(Digits.grouped(left)) more. The command line names all of them." : nil
    }
}

extension CheckView.Row {
    fileprivate init(_ finding: RecordFinding, _ titles: ReferencedTitles, _ visit: Visit) {
        let zoneID = finding.recordID.zoneID
        record = RecordLink(
            href: visit.place.link(toRecord: finding.recordID.recordName, in: zoneID),
            recordName: finding.recordID.recordName.string,
            title: titles[finding.recordID])
        type = finding.recordType.string
        zone = visit.zoneName(zoneID)
        field = finding.fieldName?.string
        target = finding.target.map { target in
            Frame.Link(
                text: target.recordName.string, href: visit.place.link(toRecord: target.recordName, in: target.zoneID))
        }
        explanation = finding.explanation
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
