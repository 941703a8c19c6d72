/// The page for a search without results.
struct NothingFoundView: Page {
    static let template = "nothing_found"
    static let tab = Tab.home

    let title = "Nothing found"
    let text: String
    let back: String
    /// True if the search covered one place rather than all containers.
    let isSomewhere: Bool
}
