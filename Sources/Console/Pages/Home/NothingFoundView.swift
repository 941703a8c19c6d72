/// The find box found nothing.
struct NothingFoundView: Page {
    static let template = "nothing_found"
    static let tab = Tab.home

    let title = "Nothing found"
    let text: String
    let back: String
    /// Whether the search was in one place rather than in all containers.
    let isSomewhere: Bool
}
