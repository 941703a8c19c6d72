internal import AdminPages
package import Console
internal import DataTransfer
package import HTTPServing
internal import RecordPages
internal import Records
internal import RequestLog
internal import TrafficPages

extension Console {
    /// Adds all pages, the static files, and the error pages.
    ///
    /// Requires the guards of `HTTPServing` before it: they set the security headers and refuse forms from other sites.
    package func addRoutes(to routes: Routes) {
        add(RouteTable(self).rows, to: routes)
    }
}

/// All addresses of the console, in the order of the sidebar: a row says what answers, what the body may carry, who may
/// ask, and what it needs.
package struct RouteTable {
    // What is kept from one request to the next.
    private let connect: ConnectActions
    private let imports = ImportActions()
    private let mirror: MirrorActions
    private let snapshots: SnapshotActions

    package init(_ console: Console) {
        connect = ConnectActions(console: console)
        mirror = MirrorActions(console)
        snapshots = SnapshotActions(runs: console.runs)
        ZoneCopyView.sweepLeftovers()
    }

    package var rows: [ConsoleRoute] {
        [
            start, containers, connections, signIn, find, reading, records, changingRecords, shares, zones, types,
            objects, copies, clients, notifications, decoding, requests, upkeep, access,
        ].flatMap(\.self)
    }
}

// MARK: - Outside of containers

extension RouteTable {
    private var start: [ConsoleRoute] {
        [
            .get("/", HomeView.show),
            .post("/containers", carries: .names, HomeView.create),
            .post("/demo", carries: .names, HomeView.loadDemo, .needsDemo),
            .post("/snapshots", carries: .file, snapshots.open(_:)),
            .get("/find", Finder.answer(everywhere:)),
            .get("/find/list", FindView.list),
            .post("/rehearsals/stop", carries: .names, FaultActions.stopAll, .fromThisMachineOnly),
            .get("/static/{name}", StaticFiles.show, .forEverybody, .isStatic),
            .get("/static/{version}/{name}", StaticFiles.show, .forEverybody, .isStatic),
        ]
    }

    private var containers: [ConsoleRoute] {
        [
            .get("/container", ContainerView.show),
            .post("/containers/rename", carries: .names, ContainerView.rename),
            .post("/containers/delete", carries: .names, ContainerView.delete),
            .get("/c/{container}", ContainerView.leadToSync),
            .get("/c/{container}/{environment}", ContainerView.leadToSync),
            .get("/c/{container}/{environment}/{database}", ContainerView.leadToSync),
        ]
    }

    /// iCloud's site leads to two of them: browsers send no session with such a request.
    private var connections: [ConsoleRoute] {
        [
            .get("/connect", connect.show, .needsConnections),
            .post("/connect", carries: .names, connect.submit, .needsConnections),
            .get("/connect/sign-in", connect.showSignIn, .needsConnections),
            .post("/connect/answer", carries: .names, connect.takeAnswer, .needsConnections),
            .get("/connect/return", connect.comeBack, .forEverybody, .needsConnections),
            .get("/connect/returned", connect.showReturn, .forEverybody, .needsConnections),
            .get("/connect/forget", connect.confirmForgetting(_:), .needsConnections),
            .post("/connect/forget", carries: .names, connect.forget(_:), .needsConnections),
        ]
    }

    private var signIn: [ConsoleRoute] {
        [
            .get("/sign-in", SignIn.show, .forEverybody),
            .post("/sign-in", carries: .signIn, SignIn.submit, .forEverybody),
            .get("/admin/sign-in", AdministratorSignIn.show, .forEverybody),
            .post("/admin/sign-in", carries: .signIn, AdministratorSignIn.submit, .forEverybody),
            .post("/admin/sign-out", carries: .names, AdministratorSignIn.signOut),
        ]
    }
}

// MARK: - Records

extension RouteTable {
    private var find: [ConsoleRoute] {
        [
            .answer("find", Finder.answer(_:), .showsZones),
            .page("find/list", FindView.load),
        ]
    }

    private var reading: [ConsoleRoute] {
        [
            .answer("query", QueryView.answer, .showsZones),
            .file("query.json", ResultFormat.json.query, .showsZones),
            .file("query.ndjson", ResultFormat.ndjson.query, .showsZones),
            .file("query.csv", ResultFormat.csv.query, .showsZones),
            .answer("explain", ExplainView.answer, .showsZones),
            .act("queries/save", SavedQueryActions.save),
            .act("queries/remove", SavedQueryActions.remove),
            .page("fetch", FetchView.load, .showsZones),
            .file("fetch.json", ResultFormat.json.fetch, .showsZones),
            .file("fetch.ndjson", ResultFormat.ndjson.fetch, .showsZones),
            .file("fetch.csv", ResultFormat.csv.fetch, .showsZones),
            .answer("changes", ZoneFeedView.answer, .showsZones),
            .submit("picked", carries: .choices, PickedActions.answer),
            .submit("picked/delete", carries: .choices, PickedActions.delete),
        ]
    }

    private var records: [ConsoleRoute] {
        [
            .page("record", RecordView.withClients),
            .file("record/file", ConnectedFile.response),
            .file("record/names", RecordNames.response),
            .page("record/history", RecordHistoryView.load),
            .page("record/restore", RestoreView.load),
            .act("record/restore", RecordRestoring.restore),
            .page("record/compare", RecordComparisonView.load, .showsZones),
            .page("record/delete", RecordActions.confirmDeletion),
            .submit("record/delete", carries: .choices, RecordActions.delete),
        ]
    }

    private var changingRecords: [ConsoleRoute] {
        [
            .page("record/new", EditActions.new, .showsZones),
            .answer("record/edit", EditActions.edit, .showsZones),
            .page("record/duplicate", EditActions.duplicate, .showsZones),
            // As it was, and as it is now.
            .submit("record/save", carries: .record(times: 2), EditActions.submit),
            // As it was, mine and theirs.
            .submit("record/resolve", carries: .record(times: 3), EditActions.resolve),
            .page("record/copy", RecordCopyView.load, .showsZones),
            .submit("record/copy", carries: .choices, RecordCopyView.submit, .takesLong),
            .page("bulk", BulkView.load, .showsZones),
            // A value may be too long for an address.
            .ask("bulk", carries: .record(times: 1), BulkView.load, .showsZones),
            .submit("bulk/run", carries: .record(times: 1), BulkView.run),
            .page("run", RunView.load),
            .act("run/cancel", RunView.cancel),
            .act("undo", UndoAction.submit),
        ]
    }

    private var shares: [ConsoleRoute] {
        [
            .page("share", ShareView.load),
            .submit("share", carries: .record(times: 1), ShareActions.submit),
            .page("share/stop", ShareActions.confirmStop),
            .submit("share/stop", carries: .choices, ShareActions.stop),
            .page("share/leave", ShareActions.confirmLeaving),
            .act("share/leave", ShareActions.leave),
            .get("/share/{id}", Invitation.show),
            .get("/share/{id}/thumbnail", Invitation.showThumbnail),
            .post("/share/{id}", carries: .names, Invitation.accept(_:)),
        ]
    }
}

// MARK: - Data

extension RouteTable {
    private var zones: [ConsoleRoute] {
        [
            .page("zones", ZonesView.load, .showsZones),
            .submit("zones/create", carries: .choices, ZoneActions.create),
            .page("zone", ZoneView.load, .showsZones),
            .page("zone/copy", ZoneCopyView.load, .showsZones),
            .submit("zone/copy", carries: .choices, ZoneCopyView.copy),
            .page("zone/delete", ZoneActions.confirmDeletion),
            .act("zone/delete", ZoneActions.delete),
            .page("zone/purge", ZoneActions.confirmPurge),
            .act("zone/purge", ZoneActions.purge),
            .act("zone/share", ZoneActions.share),
            .page("zone/unshare", ZoneActions.confirmEndOfSharing),
            .act("zone/unshare", ZoneActions.stopSharing),
            .page("sharing", SharingView.load, .showsZones),
            .page("sees", VisibilityView.load, .showsZones),
        ]
    }

    private var types: [ConsoleRoute] {
        [
            .page("types", TypesView.load),
            .submit("types/create", carries: .choices, TypeActions.create),
            .page("type", TypeView.load),
            .act("type/title", TitleForm.choose),
            .submit("type/indexes", carries: .choices, SchemaActions.save),
            .page("type/remove", TypeActions.confirmRemoval),
            .act("type/remove", TypeActions.remove),
            .page("field/remove", TypeActions.confirmFieldRemoval),
            .act("field/remove", TypeActions.removeField),
            .page("indexes", IndexesView.load),
            .act("composites/change", SchemaActions.changeCompositeIndexes),
            .page("roles", RolesView.load),
            .submit("roles/add", carries: .choices, RoleActions.add),
            .act("roles/remove", RoleActions.remove),
            .act("roles/grants", RoleActions.setGrants),
            .act("roles/give", RoleMembers.give),
            .act("roles/take", RoleMembers.take),
            .page("deploy", DeployView.load),
            .answer("deploy/confirm", DeployView.confirm),
            .submit("deploy", carries: .choices, DeployView.deploy),
            // It was a page once, and people keep its address.
            .answer("compare", DeployView.lead),
            .page("history", HistoryView.load),
            .page("schema", SchemaView.load),
            .file("schema/export", SchemaView.export),
            .submit("schema/import", carries: .schemaFile, ImportView.plan),
            .submit("schema/apply", carries: .schemaFile, ImportView.apply),
            .page("reset", ResetView.load),
            .submit("reset", carries: .choices, ResetView.reset),
        ]
    }

    private var objects: [ConsoleRoute] {
        [
            .page("objects", ObjectsView.load, .showsZones),
            .page("objects/entity", EntityView.load, .showsZones),
            .answer("object", ObjectView.answer),
            .page("keyvalues", KeyValuesView.load),
            .submit("keyvalues", carries: .texts(of: KeyValueLimits.bytes), KeyValuesView.submit),
            .page("keyvalues/remove", KeyValuesView.confirmRemoval),
            .act("keyvalues/remove", KeyValuesView.remove),
        ]
    }

    /// Copies of the data: imports, snapshots and mirrors.
    private var copies: [ConsoleRoute] {
        [
            .page("importing", ImportingView.load, .showsZones),
            .post("importing/preview", carries: .file, imports.preview),
            .post("importing/run", carries: .file, imports.run),
            .page("snapshots", SnapshotsView.load),
            .submit("snapshots/save", carries: .names, snapshots.save),
            .file("snapshots/file", SnapshotActions.file),
            .post("snapshots/import", carries: .file, snapshots.add(_:)),
            .page("snapshots/compare", SnapshotView.compare, .takesLong),
            .page("snapshots/restore", SnapshotView.askToRestore, .takesLong),
            .act("snapshots/restore", snapshots.restore),
            .page("snapshots/requests", SnapshotRequestsView.load),
            .page("snapshots/delete", SnapshotActions.confirmDeletion),
            .act("snapshots/delete", SnapshotActions.delete),
            .answer("mirror", mirror.show, .needsConnections),
            .submit("mirror/start", carries: .choices, mirror.start, .needsConnections),
            .act("mirror/stop", mirror.stop, .needsConnections),
            .act("mirror/files", mirror.fetchFiles, .needsConnections),
            .page("unsent", UnsentView.load, .needsConnections),
            .act("unsent/send", mirror.send, .needsConnections),
            .act("unsent/settle", UnsentActions.settle, .needsConnections),
            .page("unsent/conflict", UnsentActions.conflict, .needsConnections),
            // As it was, mine and theirs.
            .submit("unsent/resolve", carries: .record(times: 3), UnsentActions.resolve, .needsConnections),
        ]
    }
}

// MARK: - Clients

extension RouteTable {
    private var clients: [ConsoleRoute] {
        [
            .page("sync", SyncView.load),
            .page("clients", ClientsView.load),
        ]
    }

    private var notifications: [ConsoleRoute] {
        [
            .answer("notifications", NotificationsView.answer, .showsZones),
            .file("notification/file", NotificationView.file),
            .act("notification/again", NotificationView.sendAgain, .needsNotificationSender),
            .act("notification/fire", NotificationsView.fire, .needsNotificationSender),
            .page("subscriptions", SubscriptionsView.load),
            .page("subscription", SubscriptionView.load, .showsZones),
            .submit("subscription", carries: .record(times: 1), SubscriptionView.submit, .showsZones),
            .page("subscription/delete", SubscriptionActions.confirmDeletion),
            .act("subscription/delete", SubscriptionActions.delete),
        ]
    }

    private var decoding: [ConsoleRoute] {
        [
            .answer("token", TokenView.answer),
            .ask("token", keeping: ["token", "with"], carries: .pastedTexts, TokenView.load),
            .page("errors", ErrorsView.load),
            .ask("errors", keeping: ["error"], carries: .pastedTexts, ErrorsView.load),
            .page("keys/signature", SignatureView.load),
            // A body can be long and must not appear in addresses. The form changes nothing.
            .submit("keys/signature", carries: .signedRequest, SignatureView.check, .showsSecret),
        ]
    }
}

// MARK: - Server

extension RouteTable {
    private var requests: [ConsoleRoute] {
        [
            .answer("requests", RequestsView.answer),
            // The addresses of Query and Explain contain the compared values. The page of a request therefore links to
            // this one, which builds them only on demand.
            .answer("requests/explain", RequestedQuery.lead),
            .page("requests/replay", RequestReplay.confirm, .needsWebServices),
            .post("requests/replay", carries: .names, RequestReplay.send(_:), .needsWebServices),
            .page("telemetry", TelemetryView.load),
        ]
    }

    private var upkeep: [ConsoleRoute] {
        [
            .page("rehearsals", FaultsView.load),
            .page("rehearsals/confirm", FaultActions.confirm),
            .act("rehearsals/start", FaultActions.start, .fromThisMachineOnly),
            .act("rehearsals/stop", FaultActions.stop, .fromThisMachineOnly),
            .page("check", CheckView.load),
            .act("check/start", CheckActions.start),
            .act("check/cancel", CheckActions.cancel),
            .page("advice", AdviceView.load),
        ]
    }

    private var access: [ConsoleRoute] {
        [
            .page("keys", KeysView.load),
            .submit("keys/token", carries: .choices, KeyActions.makeToken, .showsSecret),
            .submit("keys/key", carries: .choices, KeyActions.registerKey, .showsSecret),
            .page("keys/revoke", KeyActions.confirmRevocation),
            .act("keys/revoke", KeyActions.revoke),
            .page("users", UsersView.load),
            .submit("users/add", carries: .choices, UsersView.add),
            .page("users/user", UserView.load),
            .page("users/remove", UserRemovalActions.confirm),
            .act("users/remove", UserRemovalActions.remove),
        ]
    }
}

extension FormLimit {
    /// Two pasted texts.
    fileprivate static let pastedTexts = texts(of: 2 * PastedText.limit)
    /// The body of a request of the web services.
    fileprivate static let signedRequest = texts(of: SignatureForm.bodyLimit)
}

// MARK: - Pages of two modules

extension RecordView {
    /// The page of a record, with the clients that received it.
    fileprivate static func withClients(_ visit: Visit) async throws -> RecordView {
        let asked = try await AskedRecord(visit)
        let clients = try await ClientsPanel.load(asked.recordID, asked.record, asked.visit)
        return try await load(asked, clients: clients)
    }
}

extension RequestedQuery {
    /// Leads to the form of the query of a request in the log.
    fileprivate static func lead(_ visit: Visit) throws -> Answer {
        let asked = try RequestedQuery(visit)
        return .redirect(try asked.address(visit, form: QueryForm(asked.query, of: asked.type(visit))?.parameters))
    }
}
