internal import Accounts
internal import CloudKitRecordStore
internal import Console
internal import JSON
internal import Records

/// The page Connected containers: those in iCloud that the console shows, and the form for another one.
struct ConnectView: Page {
    static let template = "connect"
    static let tab = Tab.home

    struct Row: ViewModel {
        let container: String
        let environment: String
        let query: String
        let credentials: String
        let reach: String
        /// The user who signed in; `nil` if CloudKit did not tell, and for keys.
        let user: String?
        let rights: String
        /// The address of another server than iCloud.
        let server: String?
        let made: ValueView
        let mirror: String
        let forget: String
    }

    /// The inputs of a refused form, without credentials.
    struct Draft: Sendable {
        var complaint: Complaint?
        var fields = FormFields()
    }

    let title = "Connected containers"
    let notice: String?
    let complaint: Complaint?
    let rows: [Row]
    let container: String
    let environments: [Choice]
    let keyID: String
    let isWritable: Bool
    let server: String?
    /// The address to which a sign-in comes back.
    let callback: String
    /// Scheme, host and port of this page.
    let origin: String

    init(_ console: Console, origin: String, notice: String? = nil, draft: Draft = Draft()) {
        self.notice = notice
        complaint = draft.complaint
        rows = console.accounts.connections().map { connection in
            let scope: DatabaseScope = connection.reach.contains(.private) ? .private : .public
            let place = Place(
                address: DatabaseAddress(container: connection.container, environment: connection.environment, scope: scope), user: nil, zone: .unspecified)
            return Row(
                container: connection.container.description, environment: connection.environment.rawValue, query: place.link(Tab.query.rawValue),
                credentials: connection.credentials.description,
                reach: DatabaseScope.allCases.filter { connection.reach.contains($0) }.map(\.rawValue).joined(separator: ", "),
                user: connection.userRecordName?.string, rights: connection.isReadOnly ? "read-only" : "writable", server: connection.address,
                made: ValueView(.time(connection.made)), mirror: place.link(Tab.mirror.rawValue),
                forget: FormFields.url(
                    ConnectActions.forgetPath,
                    [("container", connection.container.description), ("environment", connection.environment.rawValue)]))
        }
        let fields = draft.fields
        container = fields["container"] ?? ""
        environments = Records.Environment.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == fields["environment"]) }
        keyID = fields["keyID"] ?? ""
        isWritable = fields["writable"] != nil
        server = fields.text("server")
        callback = origin + ConnectActions.returnPath
        self.origin = origin
    }
}

/// The page that waits for a sign-in at iCloud.
struct SignInWaitView: Page {
    static let template = "connect_sign_in"
    static let tab = Tab.home

    let title: String
    let container: String
    let environment: String
    /// The page of iCloud.
    let address: String
    let id: String
    /// The reason why the sign-in failed; `nil` while it is under way.
    let failure: String?
    let again: String

    init(_ signIn: SignInsUnderWay.SignIn) {
        title = "Sign in to iCloud"
        container = signIn.attempt.container.description
        environment = signIn.attempt.environment.rawValue
        address = signIn.signInURL
        id = signIn.id
        failure = if case .failed(let reason)? = signIn.ending { reason } else { nil }
        again = ConnectActions.path
    }
}

/// The page to which a sign-in at iCloud comes back. The session's cookie does not come with it, so it leads on to the console.
struct SignInReturnView: Page {
    static let template = "connect_return"
    static let tab = Tab.home

    let title = "Back from iCloud"
    let script: String
    let next: String
    /// The content of the tag that leads on.
    let refresh: String

    init(next: String, script: String) {
        self.script = script
        self.next = next
        refresh = "0; url=\(next)"
    }
}
