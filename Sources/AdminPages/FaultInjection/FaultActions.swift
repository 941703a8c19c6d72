internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The actions of the fault injection page.
enum FaultActions {
    static func start(_ visit: Visit, faults: FaultInjection) async throws -> String {
        let fault = try fault(visit.fields["start"])
        if fault.kind == .act {
            let zoneID = fault.needsZone ? try zoneID(visit) : nil
            try await visit.measure { try await fault.perform(in: visit.database, zoneID: zoneID) }
            return page(visit, fault == .expireTokens ? .tokensExpired : fault == .purgeZone ? .zonePurged : .zoneReset)
        }
        func number(_ field: String, _ name: String) throws -> Int? {
            guard let text = visit.fields.text(field)?.trimmingSpaces else { return nil }
            guard let number = Int(text) else { throw RecordError(.badRequest, "\(name) must be a whole number, not ‘\(text)’") }
            return number
        }
        // One form starts all faults, so it sends what others need, too.
        let hasItems = fault == .partialFailure
        let setting = try FaultSetting(
            fault, count: fault.kind == .failure ? try number("count", "The count") : nil,
            every: hasItems ? try number("every", "The number of items") : nil, code: hasItems ? visit.fields.text("code") : nil)
        let area = try FaultPlace(visit.fields["where"] ?? "everywhere", in: visit.place).area(in: visit.place)
        try faults.start(setting, in: area)
        return page(visit, .rehearsalStarted)
    }

    static func stop(_ visit: Visit, faults: FaultInjection) throws -> String {
        let fields = visit.fields
        let area = FaultArea(
            container: fields["container"].flatMap { ContainerID($0) }, environment: fields["environment"].flatMap { Environment(rawValue: $0) },
            scope: fields["database"].flatMap { DatabaseScope(rawValue: $0) },
            zoneID: fields.text("inZone").map { ZoneID(zoneName: Name($0), ownerRecordName: fields.text("owner").map { Name($0) }) })
        faults.stop(try fault(fields["stop"]), in: area)
        return page(visit, .rehearsalStopped)
    }

    /// The confirmation page for actions that can't be undone.
    static func confirm(_ visit: Visit) throws -> ConfirmationView {
        let act = try fault(visit.fields["start"])
        guard act.kind == .act else { throw RecordError(.badRequest, "‘\(act.rawValue)’ is started and stopped without a confirmation") }
        var fields = [Frame.Hidden(name: "start", value: act.rawValue)]
        var title = "\(act.title) of \(visit.place.address.container), \(visit.place.address.environment.rawValue)?"
        if act.needsZone {
            let zoneID = try zoneID(visit)
            fields.append(Frame.Hidden(name: "of", value: visit.place.zoneText(zoneID)))
            title = act == .purgeZone ? "Purge the zone \(visit.zoneName(zoneID))?" : "Reset the zone \(visit.zoneName(zoneID))?"
        }
        return ConfirmationView(
            on: .rehearsals, title: title, lines: [act.effect, act.advice],
            action: visit.place.link("rehearsals/start"), fields: fields, button: act.title, cancel: visit.place.link("rehearsals"))
    }

    private static func page(_ visit: Visit, _ notice: Notice) -> String {
        visit.place.link("rehearsals", [notice.parameter])
    }

    private static func fault(_ name: String?) throws -> InjectedFault {
        try FaultSetting(name ?? "").fault
    }

    /// The zone of a one-time action.
    private static func zoneID(_ visit: Visit) throws -> ZoneID {
        guard case .one(let zoneID) = Place.zone(visit.fields.text("of"), owner: nil, in: visit.place.address.scope) else {
            throw RecordError(.badRequest, "Choose a zone")
        }
        guard visit.zones.contains(where: { visit.place.isSame($0.zoneID, zoneID) }) else { throw RecordError.zoneNotFound }
        return zoneID
    }
}
