internal import Console
internal import Records
internal import Workbench

/// What a value is that no store explains: a token of iCloud, a cut one, or no change token at all.
struct RecognisedValue: ViewModel {
    /// A CSS class: `compared` for what is in order, none for a token that was cut or changed.
    let tone: String
    let title: String
    let advice: [String]
    /// The answer of the API to such a token.
    let refusal: String?
    let link: Frame.Link?

    /// - Parameter refusal: the error of the store that was asked for the token; `nil` if none was.
    init(_ kind: PastedKind, refusal: RecordError?, _ visit: Visit) {
        switch kind {
        case .damagedToken, .changeToken: tone = ""
        default: tone = "compared"
        }
        title = kind.title
        advice = kind.advice
        self.refusal = kind.isToken ? refusal.map { "As a syncToken here, the API refuses it: \($0.code.rawValue), \($0.reason)." } : nil
        link = kind.credential.flatMap { credential in
            switch credential {
            case .apiToken, .keyID, .privateKey, .publicKey, .digits64: Tab.keys
            case .notificationToken: Tab.notifications
            case .webAuthToken: Tab.users
            case .signature: Tab.requests
            }
        }.map { Frame.Link(text: $0.title, href: visit.place.link($0.rawValue)) }
    }
}
