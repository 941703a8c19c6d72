/// An option of a selection.
struct Choice: ViewModel {
    let value: String
    let text: String
    let isSelected: Bool
    let isDisabled: Bool

    init(_ value: String, _ text: String, isSelected: Bool, isDisabled: Bool = false) {
        self.value = value
        self.text = text
        self.isSelected = isSelected
        self.isDisabled = isDisabled
    }

    func child(named name: String) -> Any? {
        switch name {
        case "value": value
        case "text": text
        case "isSelected": isSelected
        case "isDisabled": isDisabled
        default: nil
        }
    }
}
